/* Loaded before all else into the processes of a container, it sets the clock of one worker wrong.

   WRONG_CLOCK_S is by how many seconds, WRONG_CLOCK_OF the worker. What measures time only (the
   monotonic clocks) is left as it is, as on a machine whose clock was set wrong. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static long wrong(void) {
    const char *me = getenv("SKEIN_CONTAINER_ID"), *whose = getenv("WRONG_CLOCK_OF");
    const char *seconds = getenv("WRONG_CLOCK_S");
    return me && whose && seconds && !strcmp(me, whose) ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, found);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) found->tv_sec += wrong();
    return failed;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int failed = real(found, zone);
    found->tv_sec += wrong();
    return failed;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
