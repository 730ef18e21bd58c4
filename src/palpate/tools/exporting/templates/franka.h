/* @NAME@ between a Franka's state and its torques, for libfranka: plain C over the exported library.
 *
 *     start, then for every state of the robot: set the target in `in`, tick, and send the torques.
 *
 * libfranka's end-effector and stiffness frames (setEE, setK) must be the scenario's tool frame `@TOOL@`. The robot
 * adds gravity itself, so that torques leave without it. In libfranka a wrench counts what the robot does to its
 * environment, here what the environment does to the robot; both signs are dealt with in tick.
 */
#ifndef @NAME_UPPER@_FRANKA_H
#define @NAME_UPPER@_FRANKA_H
#include "../@NAME@.h"
#include <math.h>
#include <string.h>

#define @NAME_UPPER@_FRANKA_CUTOFF @CUTOFF@ /* Hz of the low-pass in the scenario's driver; 1000 is none */
#define @NAME_UPPER@_FRANKA_RATE @TORQUE_RATE@ /* N·m/s, of each joint */

typedef struct {
    @NAME@_state law;
    @NAME@_input in; /* the target is yours to set before each tick; the rest is filled in */
    @NAME@_output out;
} @NAME@_franka;

/* The robot's base in the world of the scenario. */
static const double @NAME@_franka_R_WO[3][3] = @R_WO@;
static const double @NAME@_franka_p_WO[3] = @P_WO@;

/* Begin; within `blend` seconds the torques go over from the measured ones, 0 for at once. */
static inline int32_t @NAME@_franka_start(@NAME@_franka *f, double blend) {
    memset(f, 0, sizeof *f);
    f->in.bytes = sizeof f->in;
    f->in.version = @NAME_UPPER@_VERSION;
    int32_t code = @NAME@_init(&f->law, sizeof f->law, @NAME_UPPER@_VERSION);
    return code ? code : @NAME@_blend(&f->law, blend);
}

/* Make where the robot is its target: q and O_T_EE (column by column) of a RobotState. */
static inline void @NAME@_franka_hold(@NAME@_franka *f, const double q[7], const double O_T_EE[16]) {
    double R[3][3], p[3], w[4] = {0};
    for (int i = 0; i < 3; i++) {
        p[i] = @NAME@_franka_p_WO[i];
        for (int k = 0; k < 3; k++) p[i] += @NAME@_franka_R_WO[i][k] * O_T_EE[12 + k];
        for (int j = 0; j < 3; j++) {
            R[i][j] = 0.0;
            for (int k = 0; k < 3; k++) R[i][j] += @NAME@_franka_R_WO[i][k] * O_T_EE[4 * j + k];
        }
    }
    /* The quaternion's largest component first, so that no division is by a small number. */
    double trace = R[0][0] + R[1][1] + R[2][2];
    int a = R[1][1] > R[0][0] ? 1 : 0;
    if (R[2][2] > R[a][a]) a = 2;
    int b = (a + 1) % 3, c = (a + 2) % 3;
    double size = 0.0;
    if (trace > R[a][a]) {
        w[0] = 1.0 + trace;
        w[1] = R[2][1] - R[1][2];
        w[2] = R[0][2] - R[2][0];
        w[3] = R[1][0] - R[0][1];
    } else {
        w[0] = R[c][b] - R[b][c];
        w[1 + a] = 1.0 + R[a][a] - R[b][b] - R[c][c];
        w[1 + b] = R[b][a] + R[a][b];
        w[1 + c] = R[c][a] + R[a][c];
    }
    for (int k = 0; k < 4; k++) size += w[k] * w[k];
    for (int k = 0; k < 4; k++) w[k] /= sqrt(size);
@HOLD@
}

/* One tick: torques without gravity. `seconds` have passed since the last state, 0 at the first one. With a code other
 * than 0 they are those of the ramp to damping: go on for @NAME_UPPER@_RAMP seconds, then end the motion. */
static inline int32_t @NAME@_franka_tick(@NAME@_franka *f, double seconds, const double q[7], const double dq[7],
                                        const double tau_J[7], const double O_F_ext_hat_K[6], double torque[7]) {
    f->in.t += seconds;
    memcpy(f->in.q, q, sizeof f->in.q);
    memcpy(f->in.v, dq, sizeof f->in.v);
    memcpy(f->in.tau, tau_J, sizeof f->in.tau);
    for (int i = 0; i < 6; i++) {
        f->in.wrench[i] = 0.0;
        for (int k = 0; k < 3; k++) f->in.wrench[i] -= @NAME@_franka_R_WO[i % 3][k] * O_F_ext_hat_K[i / 3 * 3 + k];
    }
    int32_t code = @NAME@_step(&f->law, &f->in, &f->out);
    for (int j = 0; j < 7; j++) torque[j] = f->out.torque[j] - f->out.gravity[j];
    return code;
}

/* What libfranka's control loop does to a callback's torques, and nobody to those of an active control:
 * y = last + g (u - last), g = T / (T + 1 / (2 pi cutoff)); then at most rate T away from the last ones, tau_J_d. */
static inline void @NAME@_franka_shape(const double tau_J_d[7], double cutoff, double rate, double torque[7]) {
    const double T = 1e-3, share = cutoff < 1000.0 ? T / (T + 1.0 / (6.283185307179586 * cutoff)) : 1.0;
    for (int j = 0; j < 7; j++) {
        double change = share * (torque[j] - tau_J_d[j]);
        if (change > rate * T) change = rate * T;
        if (change < -rate * T) change = -rate * T;
        torque[j] = tau_J_d[j] + change;
    }
}

#endif /* @NAME_UPPER@_FRANKA_H */
