/* @NAME@ driving a Franka through libfranka: as the callback of its control loop, or by active control.
 *
 *     franka::Robot robot(address);
 *     @NAME@_franka_law law([](double t, @NAME@_input &in) { ...; return t < 10.0; });
 *     law.control(robot);          // libfranka calls, filters and limits
 *     law.control_actively(robot); // the loop is here, and so are filter and limits: the same torques
 *
 * The law begins with the target where the robot is. A code other than 0 throws, which ends the motion.
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
        demand(@NAME@_franka_tick(&law_, duration.toSec(), state.q.data(), state.dq.data(), state.tau_J.data(),
                                  state.O_F_ext_hat_K.data(), torques.data()));
        franka::Torques answer(torques);
        answer.motion_finished = !goes_on;
        return answer;
    }

    void control(franka::Robot &robot, double cutoff = @NAME_UPPER@_FRANKA_CUTOFF) {
        started_ = false;
        robot.control([this](const franka::RobotState &state, franka::Duration d) { return (*this)(state, d); }, true,
                      cutoff);
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
    }

  private:
    void begin(const franka::RobotState &state) {
        demand(@NAME@_franka_start(&law_, blend_));
        @NAME@_franka_hold(&law_, state.q.data(), state.O_T_EE.data());
        started_ = true;
    }

    static void demand(int32_t code) {
        if (code) throw std::runtime_error("@NAME@ refused a tick: code " + std::to_string(code));
    }

    Target target_;
    double blend_;
    bool started_ = false;
    @NAME@_franka law_{};
};
