// The callback and the active loop of fr3-wall's wrapper, on a stub of libfranka: the same torques, filtered and limited.
#include "fr3_wall_franka.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

int main() {
    for (double cutoff : {1000.0, 100.0}) {
        fr3_wall_franka_law law([](double t, fr3_wall_input &in) {
            in.target_position[0] += 1e-4;
            return t < 0.0995;
        });
        franka::Robot called, asked;
        law.control(called, cutoff);
        law.control_actively(asked, cutoff);
        double apart = 0.0, steepest = 0.0;
        for (size_t k = 0; k < called.sent.size(); k++)
            for (int j = 0; j < 7; j++) {
                apart = std::fmax(apart, std::fabs(called.sent[k][j] - asked.sent[k][j]));
                if (k > 0) steepest = std::fmax(steepest, std::fabs(called.sent[k][j] - called.sent[k - 1][j]));
            }
        std::printf("%zu %zu %.17g %.17g\n", called.sent.size(), asked.sent.size(), apart, steepest);
    }
    fr3_wall_franka_law broken([](double, fr3_wall_input &in) {
        in.target_position[0] = std::numeric_limits<double>::quiet_NaN();
        return true;
    });
    fr3_wall_franka_law breaks([](double t, fr3_wall_input &in) {
        if (t > 0.0305) in.target_position[0] = std::numeric_limits<double>::quiet_NaN();
        return true;
    });
    for (fr3_wall_franka_law *law : {&broken, &breaks}) {
        franka::Robot robot;
        try {
            law->control(robot);
        } catch (const std::runtime_error &error) {
            std::printf("%s, %zu commands\n", error.what(), robot.sent.size());
        }
    }
}
