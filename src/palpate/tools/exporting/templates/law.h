/* @SCENARIO@: law @LAW@ for @ROBOT@, written by palpate.
 *
 * SI units. Twists are [v; w], wrenches [f; n], world-aligned axes at the tool's origin; a wrench is what
 * the environment does to the robot. Quaternions are w x y z. Matrices are row by row.
 * Functions return a code: 0, or what was wrong. With any other code of step the law has ended and the answer is
 * @SAFE@.
 * @FIRST@
 * A library that is not called cannot act: the drive's own watchdog must hold the arm then.
 *
 * Guards (palpate export --without NAME turns one off):
@GUARDS@
 * Their bounds:
@LIMITS@
 *
 * No function allocates, locks or calls a library. One state, one thread.
 */
#ifndef @NAME_UPPER@_H
#define @NAME_UPPER@_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define @NAME_UPPER@_VERSION @VERSION@u /* of this layout: init and every input carry it */
#define @NAME_UPPER@_JOINTS @JOINTS@
#define @NAME_UPPER@_PERIOD @PERIOD_EXACT@ /* s */
#define @NAME_UPPER@_RAMP @RAMP_TIME@ /* s, in which 99 % of the way to damping with gravity is gone */
#define @NAME_UPPER@_LATEST @LATEST@ /* periods after which a tick is refused */

enum {
@CODES@
};

/* Bits of `guards` in the output: limits and guards at work in this tick. */
enum {
    @NAME_UPPER@_GUARD_TORQUE = 1, /* torque cut at its limit */
    @NAME_UPPER@_GUARD_TORQUE_RATE = 2, /* change of torque cut */
    @NAME_UPPER@_GUARD_JOINT_RANGE = 4, /* held back at the end of a joint's range */
    @NAME_UPPER@_GUARD_TOOL_SPEED = 8, /* the rest: guards of the scenario */
    @NAME_UPPER@_GUARD_CONTACT_FORCE = 16,
    @NAME_UPPER@_GUARD_STALE_READING = 32,
    @NAME_UPPER@_GUARD_NOT_FINITE = 64,
    @NAME_UPPER@_GUARD_SINGULAR_POSTURE = 128,
    @NAME_UPPER@_GUARD_JOINT_SPEED = 256, /* held back at the rated speed of a joint */
};

/* Everything the law keeps; yours to place, init fills it. */
typedef struct { uint64_t words[@STATE_WORDS@]; } @NAME@_state;

/* One tick. */
typedef struct {
    uint32_t bytes; /* sizeof(@NAME@_input) */
    uint32_t version; /* @NAME_UPPER@_VERSION */
    double t; /* s, later than the last tick's */
@INPUTS@
} @NAME@_input;

/* Its answer. */
typedef struct {
    int64_t code; /* as step returns it */
    int64_t guards; /* bits @NAME_UPPER@_GUARD_... */
    int64_t missed; /* ticks left out since init or reset */
@OUTPUTS@
} @NAME@_output;

/* The law's gains; set_gains takes changes of those that may be changed, each a value that the exported one bounds. */
typedef struct {
@GAINS@
} @NAME@_gains;

/* What the law remembers. */
typedef struct {
@MEMORY@
} @NAME@_memory;

/* What the arm carries, where its tool is, how gravity points, how much friction is compensated: for the model inside. */
typedef struct {
@SETUP@
} @NAME@_setup;

/* Make a state; before anything else. */
int32_t @NAME@_init(@NAME@_state *state, size_t bytes, uint32_t version);
/* One control tick. */
int32_t @NAME@_step(@NAME@_state *state, const @NAME@_input *input, @NAME@_output *output);
/* End the law: from the next tick on the answer is the ramp, with code STOPPED, until reset. */
int32_t @NAME@_stop(@NAME@_state *state);
/* Memory, guards and clock as at the start; gains and setup stay. */
int32_t @NAME@_reset(@NAME@_state *state);
/* From the next tick on, go over from the measured torques to the law's within some seconds; 0 ends it. */
int32_t @NAME@_blend(@NAME@_state *state, double seconds);
/* Seconds in which changes of gains and setup are eased in from now on, @EASE@ by default; before the first tick they
 * count at once. */
int32_t @NAME@_ease(@NAME@_state *state, double seconds);
/* Hold where the arm is at the next tick, whatever target the input has, until follow; before the first tick as after. */
int32_t @NAME@_hold(@NAME@_state *state);
/* Go over from the target of now to the input's within some seconds; 0 for at once. */
int32_t @NAME@_follow(@NAME@_state *state, double seconds);
/* Gains and setup as they were last asked for; set refuses a change as a whole: READ_ONLY, BOUND. */
int32_t @NAME@_get_setup(const @NAME@_state *state, @NAME@_setup *setup, size_t bytes);
int32_t @NAME@_set_setup(@NAME@_state *state, const @NAME@_setup *setup, size_t bytes);
int32_t @NAME@_get_gains(const @NAME@_state *state, @NAME@_gains *gains, size_t bytes);
int32_t @NAME@_set_gains(@NAME@_state *state, const @NAME@_gains *gains, size_t bytes);
int32_t @NAME@_get_memory(const @NAME@_state *state, @NAME@_memory *memory, size_t bytes);

/* The name of a code. */
static inline const char *@NAME@_code_name(int32_t code) {
    static const char *const names[] = {@CODE_NAMES@};
    return code >= 0 && code < (int32_t)(sizeof names / sizeof *names) ? names[code] : "unknown";
}

#ifdef __cplusplus
}
#endif
#endif /* @NAME_UPPER@_H */
