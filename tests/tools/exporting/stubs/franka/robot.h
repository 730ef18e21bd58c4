// A stub of libfranka's C++ interface, palpate's own and for tests alone: names and shapes that the wrapper uses, around
// a robot whose states are a formula. It shows that the wrapper compiles and that its two loops agree, not what a robot
// does; the test with pylibfranka runs the maker's code.
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace franka {
class Duration {
  public:
    explicit Duration(double seconds = 0.0) : seconds_(seconds) {}
    double toSec() const noexcept { return seconds_; }

  private:
    double seconds_;
};

struct RobotState {
    std::array<double, 7> q{}, dq{}, tau_J{}, tau_J_d{};
    std::array<double, 6> O_F_ext_hat_K{};
    std::array<double, 16> O_T_EE{};
};

class Torques {
  public:
    Torques(const std::array<double, 7> &torques) noexcept : tau_J(torques) {}
    bool motion_finished = false;
    std::array<double, 7> tau_J{};
};

class ActiveControlBase {
  public:
    virtual ~ActiveControlBase() = default;
    virtual std::pair<RobotState, Duration> readOnce() = 0;
    virtual void writeOnce(const Torques &torques) = 0;
};

class Robot {
  public:
    std::vector<std::array<double, 7>> sent;

    // The low-pass and the limit of the interface's documentation, written down once more.
    void control(std::function<Torques(const RobotState &, Duration)> callback, bool limit_rate, double cutoff) {
        for (bool finished = false; !finished;) {
            RobotState now = state();
            Torques torques = callback(now, Duration(sent.empty() ? 0.0 : 1e-3));
            for (int j = 0; j < 7; j++) {
                double &u = torques.tau_J[j], last = now.tau_J_d[j];
                if (cutoff < 1000.0) {
                    double gain = 1e-3 / (1e-3 + 1.0 / (2.0 * 3.14159265358979323846 * cutoff));
                    u = gain * u + (1.0 - gain) * last;
                }
                if (limit_rate) u = last + std::max(std::min((u - last) / 1e-3, 999.999), -999.999) * 1e-3;
            }
            sent.push_back(torques.tau_J);
            finished = torques.motion_finished;
        }
    }

    std::unique_ptr<ActiveControlBase> startTorqueControl() { return std::make_unique<Active>(*this); }

    RobotState state() const {
        RobotState s;
        const double q[7] = {0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785};
        for (int j = 0; j < 7; j++) {
            s.q[j] = q[j] + 1e-5 * double(sent.size()) * (j + 1);
            s.dq[j] = 1e-2 * (j + 1);
        }
        s.O_T_EE = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0.307, 0.0, 0.59, 1};
        if (!sent.empty()) s.tau_J_d = sent.back();
        return s;
    }

  private:
    class Active : public ActiveControlBase {
      public:
        explicit Active(Robot &robot) : robot_(robot) {}
        std::pair<RobotState, Duration> readOnce() override {
            return {robot_.state(), Duration(robot_.sent.empty() ? 0.0 : 1e-3)};
        }
        void writeOnce(const Torques &torques) override { robot_.sent.push_back(torques.tau_J); }

      private:
        Robot &robot_;
    };
};
} // namespace franka
