#include "delays.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

double jitter_ms, bytes_per_second;

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static double link_free_at;

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static void sleep_until(double seconds) {
  struct timespec until = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

/* The jitter is drawn from one seed: the same delays in every run, though not for the same calls. */
void wait_ms(double ms) {
  if (ms <= 0) return;
  double until = now_seconds() + ms / 1000;
  if (jitter_ms > 0) {
    pthread_mutex_lock(&clock_lock);
    until += drand48() * jitter_ms / 1000;
    pthread_mutex_unlock(&clock_lock);
  }
  sleep_until(until);
}

/*
 * One link, over which bytes go one after the other: booked by absolute times, so that late wake-ups cost no
 * throughput.
 */
void transfer(size_t bytes) {
  if (bytes_per_second <= 0 || bytes == 0) return;
  double now = now_seconds();
  pthread_mutex_lock(&clock_lock);
  link_free_at = (link_free_at > now ? link_free_at : now) + bytes / bytes_per_second;
  double until = link_free_at;
  pthread_mutex_unlock(&clock_lock);
  sleep_until(until);
}
