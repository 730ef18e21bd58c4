/* @NAME@ driving a Franka through libfranka: as the callback of its control loop, or by active control.
 *
 *     franka::Robot robot(address);
 *     @NAME@_franka_law law([](double t, @NAME@_input &in) { ...; return t < 10.0; });
 *     law.control(robot);          // libfranka calls, filters and limits
 *     law.control_actively(robot); // the loop is here, and so are filter and limits: the same torques
 *
 * The law begins with the target where the robot is. After a code other than 0 the torques go to damping within
 * @NAME_UPPER@_RAMP seconds, the motion ends, and control throws with the code's name; at the first tick it throws at once.
 */
#pragma once
#include "@NAME@_franka.h"

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <franka/active_control.h>
#include <franka/active_torque_control.h>
#include <franka/robot.h>

class @NAME@_franka_law {
  public:
    using Target = std::function<bool(double t, @NAME@_input &in)>; /* sets in.target_...; false ends the motion */

    explicit @NAME@_franka_law(Target target, double blend = 0.0) : target_(std::move(target)), blend_(blend) {}

    franka::Torques operator()(const franka::RobotState &state, franka::Duration duration) {
        if (!started_) begin(state);
        std::array<double, 7> torques{};
        bool goes_on = target_(law_.in.t + duration.toSec(), law_.in);
        const int32_t code = @NAME@_franka_tick(&law_, duration.toSec(), state.q.data(), state.dq.data(),
                                                state.tau_J.data(), state.O_F_ext_hat_K.data(), torques.data());
        if (!ticks_++) demand(code);
        if (code && !code_) code_ = code;
        if (code_) left_ -= @NAME_UPPER@_PERIOD;
        franka::Torques answer(torques);
        answer.motion_finished = code_ ? left_ <= 0.0 : !goes_on;
        return answer;
    }

    int32_t code() const { return code_; } /* with which the law ended; 0 if it did not */

    void control(franka::Robot &robot, double cutoff = @NAME_UPPER@_FRANKA_CUTOFF) {
        started_ = false;
        robot.control([this](const franka::RobotState &state, franka::Duration d) { return (*this)(state, d); }, true,
                      cutoff);
        demand(code_);
    }

    void control_actively(franka::Robot &robot, double cutoff = @NAME_UPPER@_FRANKA_CUTOFF) {
        started_ = false;
        auto active = robot.startTorqueControl();
        for (bool finished = false; !finished;) {
            const auto [state, duration] = active->readOnce();
            franka::Torques torques = (*this)(state, duration);
            @NAME@_franka_shape(state.tau_J_d.data(), cutoff, @NAME_UPPER@_FRANKA_RATE, torques.tau_J.data());
            finished = torques.motion_finished;
            active->writeOnce(torques);
        }
        demand(code_);
    }

  private:
    void begin(const franka::RobotState &state) {
        demand(@NAME@_franka_start(&law_, blend_));
        @NAME@_franka_hold(&law_, state.q.data(), state.O_T_EE.data());
        started_ = true;
        ticks_ = 0, code_ = 0, left_ = @NAME_UPPER@_RAMP;
    }

    static void demand(int32_t code) {
        if (code) throw std::runtime_error(std::string("@NAME@ refused a tick: ") + @NAME@_code_name(code));
    }

    Target target_;
    double blend_;
    bool started_ = false;
    int64_t ticks_ = 0;
    int32_t code_ = 0;
    double left_ = 0.0; /* s of the ramp */
    @NAME@_franka law_{};
};
