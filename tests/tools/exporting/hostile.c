/* Hostile sequences against an exported library of any law; limits.h, made by the test, says where things stand.
 *
 *     ./hostile vectors.bin [SEQUENCE table.txt]
 *
 * Prints of each sequence: its name, the first code and the last, bits of guards, the largest |command| and |change in a
 * tick| as shares of the arm's limits (0 where none is known), the largest change of the rate in a tick of the ramp as a
 * share of what the ramp may do, and how far the last command is from gravity, as a share of the first distance.
 *
 * Sequences begin in the middle of the run, or of its part before a guard ended it; those called first-… at the first tick,
 * where the command before is the measured torque.
 */
#include "limits.h"
#include HEADER
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AFTER = 1500, RAMP = 700 }; /* ticks of a sequence, and of its ramp */
#define BEFORE (first_of(name) ? 0 : (int)(good / 2)) /* of the run, in which it is pressing or moving */
static const double command_limit[] = COMMAND_LIMIT, step_limit[] = STEP_LIMIT, rated[] = RATED, lower[] = LOWER,
                    upper[] = UPPER, damping[] = DAMPING;
static STATE state;
static double *ticks; /* of the verified run, row by row */
static long count, good; /* ticks, and those before a guard ended the run */
static int ended; /* tick of the first code, −1 before */

static int first_of(const char *name) { return !strncmp(name, "first-", 6); }

typedef struct { int tick, code, end_code; int64_t bits; double most, step, bend, end; } Result;

static double share(double value, double limit) { return isinf(limit) ? 0.0 : fabs(value) / limit; }

/* One input of the run; once the law has ended the arm comes to rest where it is, in 50 ms. */
static void row_of(double *in, long k, long most) {
    const long row = ended >= 0 ? ended : k;
    memcpy(in, ticks + (row < most ? row : most - 1) * WIDTH, sizeof(INPUT));
    for (int j = 0; ended >= 0 && j < N; j++) in[V_AT + j] *= exp(-20.0 * PERIOD * (double)(k - ended));
}

/* Whether the library knows where the arm is: else it answers torque 0, or no position. */
static int in_hand(int code, int k) { return code != NO_POSTURE && !(code == WRONG_SIZE && k == 0); }

/* The joint that is nearest to an end of its range in time, and the way there. */
static int nearest(const double *q, double *way) {
    int best = 0;
    double least = INFINITY;
    for (int j = 0; j < N; j++) {
        const double up = (upper[j] - q[j]) / rated[j], down = (q[j] - lower[j]) / rated[j];
        if (fmin(up, down) < least) best = j, least = fmin(up, down), *way = up < down ? 1.0 : -1.0;
    }
    return best;
}

/* Change a tick as the sequence says; false where it leaves the tick out. */
static int spoil(const char *name, double *in, int k, double t) {
    double *q = in + Q_AT, *v = in + V_AT;
    const int late = k - BEFORE, first = late == 0;
    in[1] = t;
    if (late < 0) return 1;
    if (!strcmp(name, "q-nan") && first) q[0] = NAN;
    if (!strcmp(name, "v-inf") && first) v[N - 1] = INFINITY;
    if (!strcmp(name, "wrench-inf") && first) in[WRENCH_AT] = -INFINITY;
    if (!strcmp(name, "nan-for-ever")) q[0] = NAN;
    if (!strcmp(name, "nan-now-and-then") && late % 40 < 20) v[0] = NAN;
    if (!strcmp(name, "t-nan") && first) in[1] = NAN;
    if (!strcmp(name, "q-jumps")) q[1] += 1.0;
    if (!strcmp(name, "q-jumps-back") && first) q[1] -= 1.0;
    if (!strcmp(name, "q-steps")) q[0] += 2.5 * rated[0] * PERIOD;
    if (!strcmp(name, "target-jumps")) {
        if (TARGET_POSITION_AT >= 0) in[TARGET_POSITION_AT] += 0.5;
        else if (TARGET_Q_AT >= 0) in[TARGET_Q_AT] += 1.0;
    }
    if (!strcmp(name, "target-turns") && QUATERNION_AT >= 0) {
        double *w = in + QUATERNION_AT, turned[4] = {-w[1], w[0], w[3], -w[2]}; /* half a turn about x */
        memcpy(w, turned, sizeof turned);
    }
    if (!strcmp(name, "quaternion-long") && first && QUATERNION_AT >= 0) in[QUATERNION_AT] += 1.0;
    if (!strcmp(name, "time-back") && first) in[1] = t - 5.0 * PERIOD;
    if (!strcmp(name, "time-stands") && first) in[1] = t - PERIOD;
    if (!strcmp(name, "late")) in[1] = t + 5.0;
    if (!strcmp(name, "early")) in[1] = t - 0.9 * PERIOD;
    if (!strcmp(name, "slow-clock")) in[1] = t + 0.5 * late * PERIOD;
    if (!strcmp(name, "fast-clock")) in[1] = t - 0.5 * late * PERIOD;
    if (!strcmp(name, "to-the-stop")) {
        double way;
        const int j = nearest(q, &way);
        const double fades = ended >= 0 ? exp(-20.0 * PERIOD * (k - ended)) : 1.0;
        const double since = ended >= 0 ? (1.0 - fades) / (20.0 * PERIOD) + ended - BEFORE : late;
        v[j] = way * 0.8 * rated[j] * fades, q[j] += way * 0.8 * rated[j] * PERIOD * since;
    }
    if (!strcmp(name, "too-fast")) v[0] = 1.2 * rated[0] * (ended >= 0 ? exp(-20.0 * PERIOD * (k - ended)) : 1.0);
    if (!strcmp(name, "drifts-away")) { /* 0.4 of the rated speed, every joint, towards the far end of its range */
        static double way[N];
        for (int j = 0; j < N; j++) {
            if (first) way[j] = q[j] > 0.5 * (lower[j] + upper[j]) ? -1.0 : 1.0;
            q[j] += way[j] * 0.4 * rated[j] * PERIOD * (late < 400 ? late : 400);
        }
    }
    if (!strcmp(name, "wrong-size") && first) ((uint32_t *)in)[0] += 8;
    if (!strcmp(name, "wrong-version") && first) ((uint32_t *)in)[1] += 1;
    if (!strcmp(name, "stop") && first) STOP(&state);
    if (!strcmp(name, "v-jumps") && first) STOP(&state);
    if (!strcmp(name, "v-jumps") && late >= 100)
        for (int j = 0; j < N; j++) v[j] = 0.5 * rated[j] * exp(-20.0 * PERIOD * (late - 100));
    if (!strcmp(name, "v-rattles") && first) STOP(&state);
    if (!strcmp(name, "v-rattles") && late >= 100 && late < 200)
        for (int j = 0; j < N; j++) v[j] = (late % 2 ? -0.3 : 0.3) * rated[j];
    if (!strcmp(name, "first-q-nan") && first) q[0] = NAN;
    if (!strcmp(name, "first-q-nan-a-while") && late < 50) q[N - 1] = NAN;
    if (!strcmp(name, "first-q-nan-for-ever")) q[0] = NAN;
    if (!strcmp(name, "first-v-nan") && first) v[0] = NAN;
    if (!strcmp(name, "first-v-nan-for-ever")) v[0] = NAN;
    if (!strcmp(name, "first-tau-nan") && first) v[N] = NAN;
    if (!strcmp(name, "first-wrench-nan-for-ever")) in[WRENCH_AT] = NAN;
    if (!strcmp(name, "first-target-nan") && first && TARGET_AT >= 0) in[TARGET_AT] = NAN;
    if (!strcmp(name, "first-beyond-range"))
        for (int j = 0; j < N; j++) if (isfinite(upper[j])) q[j] = upper[j] + 0.1;
    if (!strcmp(name, "first-stop") && first) STOP(&state);
    if (!strcmp(name, "first-wrong-size") && first) ((uint32_t *)in)[0] += 8;
    return 1;
}

static Result play(const char *name, FILE *table) {
    static INPUT in;
    static OUTPUT out;
    Result r = {-1, 0, 0, 0, 0.0, 0.0, 0.0, 0.0};
    double last[N], rate[N], from[N];
    int fresh = first_of(name); /* whether the first tick is that of a ramp */
    ended = -1;
    INIT(&state, sizeof state, VERSION_OF);
    for (int k = 0; k < BEFORE + AFTER && (ended < 0 || k < ended + RAMP); k++) {
        double *numbers = (double *)&in, *answer = (double *)&out;
        row_of(numbers, k, strcmp(name, "none") ? good : count);
        spoil(name, numbers, k, (k + 1) * PERIOD);
        int nothing = !strcmp(name, "null") && k == BEFORE;
        int code = STEP(&state, nothing ? NULL : &in, &out);
        if (code && r.tick < 0) ended = r.tick = k, r.code = code;
        r.bits |= out.guards, r.end_code = code, fresh = fresh && ended == 0;
        double bend = 0.0;
        for (int j = 0; j < N; j++) {
            const double command = answer[COMMAND_AT + j];
            double goal = GRAVITY_AT >= 0 ? answer[GRAVITY_AT + j] : 0.0;
            if (fresh && k == 0) /* the command that the drive had until now */
                rate[j] = 0.0, last[j] = SERVO == 1 ? numbers[Q_AT + j] : SERVO || !in_hand(code, k) ? 0.0
                                       : isfinite(numbers[V_AT + N + j]) ? numbers[V_AT + N + j] : goal;
            if (SERVO == 1 && !in_hand(code, k)) { /* no position is known: none is answered */
                if (!isnan(command)) r.most = INFINITY;
                last[j] = numbers[Q_AT + j], rate[j] = 0.0;
                continue;
            }
            if (SERVO == 1 && isnan(last[j])) last[j] = numbers[Q_AT + j];
            r.most = fmax(r.most, share(command, command_limit[j]));
            if (!isfinite(command)) r.most = INFINITY;
            if (k > 0 || fresh) {
                const double step = command - last[j];
                r.step = fmax(r.step, share(step, step_limit[j]));
                if (r.tick >= 0 && k == r.tick) from[j] = last[j] - goal;
                const double v = fabs(numbers[V_AT + j]), pushed = isfinite(v) ? damping[j] * v : damping[j] * rated[j];
                /* the ramp's own bend: T² ((a + b) |rate| + a b |offset|), twice for the limits; and D times v's own kink */
                if (r.tick >= 0 && (k > 1 || fresh)) {
                    double most = 2.0 * PERIOD * PERIOD * (220.0 * (fabs(rate[j]) / PERIOD + 1.0) +
                                                           4000.0 * (fabs(last[j] - goal) + pushed + 0.1)) +
                                  20.0 * PERIOD * pushed;
                    bend = fmax(bend, fabs(step - rate[j]) / most);
                }
                rate[j] = step;
            } else {
                rate[j] = 0.0;
            }
            last[j] = command;
            if (table) fprintf(table, "%.9g ", command);
        }
        if (table) fprintf(table, "%d\n", code);
        r.bend = fmax(r.bend, bend);
        if (r.tick >= 0) {
            double distance = 0.0, first = 0.0;
            for (int j = 0; j < N; j++) {
                distance += fabs(last[j] - (GRAVITY_AT >= 0 ? answer[GRAVITY_AT + j] : 0.0));
                first += fabs(from[j]) + fabs(damping[j] * 0.1 * rated[j]);
            }
            r.end = distance / fmax(first, 1.0);
        }
    }
    return r;
}

int main(int words, char **word) {
    static const char *names[] = {"none", "q-nan", "v-inf", "wrench-inf", "nan-for-ever", "nan-now-and-then", "t-nan",
        "q-jumps", "q-jumps-back", "q-steps", "target-jumps", "target-turns", "quaternion-long", "time-back",
        "time-stands", "late", "early", "slow-clock", "fast-clock", "to-the-stop", "too-fast", "drifts-away",
        "wrong-size", "wrong-version", "null", "stop", "v-jumps", "v-rattles", "first-q-nan", "first-q-nan-a-while",
        "first-q-nan-for-ever", "first-v-nan", "first-v-nan-for-ever", "first-tau-nan", "first-wrench-nan-for-ever",
        "first-target-nan", "first-beyond-range", "first-stop", "first-wrong-size"};
    int64_t head[4];
    FILE *file = fopen(word[1], "rb");
    if (!file || fread(head, sizeof head, 1, file) != 1) return 2;
    count = (long)head[0];
    ticks = malloc((size_t)count * (size_t)(head[1] + head[2]));
    if (!ticks || fread(ticks, (size_t)(head[1] + head[2]), (size_t)count, file) != (size_t)count) return 2;
    fclose(file);
    for (good = 0; good < count && *(int64_t *)(ticks + good * WIDTH + sizeof(INPUT) / 8) == 0;) good++;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        FILE *table = words > 3 && !strcmp(word[2], names[k]) ? fopen(word[3], "w") : NULL;
        Result r = play(names[k], table);
        if (table) fclose(table);
        printf("%s %d %d %lld %.9g %.9g %.9g %.9g\n", names[k], r.code, r.end_code, (long long)r.bits, r.most, r.step,
               r.bend, r.end);
    }
    free(ticks);
    return 0;
}
