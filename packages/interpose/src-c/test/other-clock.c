/*
 * A library that is loaded before others, and shows another time to its program: OTHER_CLOCK is how many
 * seconds its clocks are ahead, or `0` if they stand still.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time) {
  int (*next)(clockid_t, struct timespec *) =
      (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = next(clock, time);
  const char *ahead = getenv("OTHER_CLOCK");
  long seconds = ahead == NULL ? 0 : strtol(ahead, NULL, 10);
  if (seconds == 0) *time = (struct timespec){.tv_sec = 1};
  else time->tv_sec += seconds;
  return result;
}
