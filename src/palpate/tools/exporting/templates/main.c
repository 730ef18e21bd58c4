/* Replays @NAME@: every tick of the verified run through the library, compared bit for bit.
 *
 *     ./replay [vectors.bin]        exit code 0: every answer has the bits of the run; 1: not; 2: cannot tell
 */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 199309L
#endif
#include "@NAME@.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static @NAME@_state state;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static uint64_t hashed(uint64_t hash, const void *data, size_t bytes) { /* FNV-1a */
    const unsigned char *at = data;
    while (bytes--) hash = (hash ^ *at++) * UINT64_C(1099511628211);
    return hash;
}

int main(int count, char **words) {
    const char *path = count > 1 ? words[1] : "vectors.bin";
    FILE *file = fopen(path, "rb");
    int64_t head[4];
    if (!file || fread(head, sizeof head, 1, file) != 1) {
        fprintf(stderr, "cannot read %s\n", path);
        return 2;
    }
    if (head[1] != (int64_t)sizeof(@NAME@_input) || head[2] != (int64_t)sizeof(@NAME@_output)) {
        fprintf(stderr, "%s was made for another header\n", path);
        return 2;
    }
    int32_t code = @NAME@_init(&state, sizeof state, @NAME_UPPER@_VERSION);
    if (code) {
        fprintf(stderr, "init: code %d\n", (int)code);
        return 2;
    }
    uint64_t hash = UINT64_C(14695981039346656037);
    int64_t differing = 0, first = -1;
    double worst = 0.0, total = 0.0;
    for (int64_t tick = 0; tick < head[0]; tick++) {
        @NAME@_input given;
        @NAME@_output expected, answer;
        if (fread(&given, sizeof given, 1, file) != 1 || fread(&expected, sizeof expected, 1, file) != 1) {
            fprintf(stderr, "%s ends after %lld ticks\n", path, (long long)tick);
            return 2;
        }
        double start = now();
        @NAME@_step(&state, &given, &answer);
        double spent = now() - start;
        total += spent;
        if (spent > worst) worst = spent;
        hash = hashed(hash, &answer, sizeof answer);
        if (memcmp(&answer, &expected, sizeof answer)) {
            if (first < 0) first = tick;
            differing++;
        }
    }
    fclose(file);
    printf("@NAME@: %lld ticks, %lld differ", (long long)head[0], (long long)differing);
    if (first >= 0) printf(" (the first is tick %lld)", (long long)first);
    printf(", hash %016llx\n", (unsigned long long)hash);
    if (head[0] > 0) printf("time per tick: worst %.0f ns, mean %.0f ns\n", worst, total / (double)head[0]);
    return differing ? 1 : 0;
}
