/* The exported law of fr3-wall behind one function, for a program that has libfranka in another language. */
#include "fr3_wall_franka.h"

static fr3_wall_franka arm;

int32_t begin(void) { return fr3_wall_franka_start(&arm, 0.0); }

void hold(const double *q, const double *O_T_EE, double *position) {
    fr3_wall_franka_hold(&arm, q, O_T_EE);
    for (int i = 0; i < 3; i++) position[i] = arm.in.target_position[i];
}

/* `target`: the input of that tick in the verified run, of which the target is taken. */
int32_t tick(double seconds, const fr3_wall_input *target, const double *q, const double *dq, const double *tau_J,
             const double *tau_J_d, const double *O_F_ext_hat_K, double *torque) {
    const double t = arm.in.t;
    arm.in = *target;
    arm.in.t = t;
    int32_t code = fr3_wall_franka_tick(&arm, seconds, q, dq, tau_J, O_F_ext_hat_K, torque);
    fr3_wall_franka_shape(tau_J_d, FR3_WALL_FRANKA_CUTOFF, FR3_WALL_FRANKA_RATE, torque);
    return code;
}
