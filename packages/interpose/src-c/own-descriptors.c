/*
 * The problem: a process may have descriptors up to a limit, often of 1024, and a program that needs them all
 * must not fail because this library has some. The kernel checks the limit only when it gives a number away.
 * So the limit is raised for a moment, by some numbers, to get one that the program cannot get. A child that
 * is forked in that moment keeps the higher limit, which does no harm. If the limit cannot be raised, this
 * library does without, unless it is so high that no program comes near it.
 */
#include "own-descriptors.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From this limit on, numbers below it are taken. */
#define HIGH_LIMIT 16384
#define FIRST_NUMBER 512
/* The most that are needed: tiers, twins, and a connection for each thread that waits for the daemon. */
#define MOST_OWN 256

/* Whether somebody has raised the limit. */
static bool is_raised;

/* Another thread may have raised it when the process was forked, which this process does not have. */
static void after_fork(void) { __atomic_store_n(&is_raised, false, __ATOMIC_RELEASE); }

__attribute__((constructor)) static void begin(void) { real_atfork(after_fork); }

/* Of times so far away that they are too many it is other ones, and the same each time. */
static int64_t nanoseconds(const struct statx_timestamp *time) {
  return (int64_t)((uint64_t)time->tv_sec * 1000000000 + time->tv_nsec);
}

bool identify(int fd, struct identity *identity) {
  struct statx found;
  unsigned mask = STATX_INO | STATX_SIZE | STATX_MTIME | STATX_BTIME;
  if (real_syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &found) < 0) return false;
  int64_t made = (found.stx_mask & STATX_BTIME) != 0 ? nanoseconds(&found.stx_btime) : 0;
  *identity = (struct identity){found.stx_ino,       found.stx_size, found.stx_dev_major,
                                found.stx_dev_minor, made,           nanoseconds(&found.stx_mtime)};
  return true;
}

static bool is_same_file(const struct identity *a, const struct identity *b) {
  return a->inode == b->inode && a->major == b->major && a->minor == b->minor && a->made == b->made;
}

bool is_open_for(int fd, const struct identity *known) {
  struct identity found;
  return identify(fd, &found) && is_same_file(&found, known) && found.size == known->size &&
         found.modified == known->modified;
}

static int duplicate(int fd, rlim_t from) { return (int)real_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from); }

static int duplicate_over(int fd, const struct rlimit *limit) {
  rlim_t more = limit->rlim_max - limit->rlim_cur;
  struct rlimit raised = {limit->rlim_cur + (more < MOST_OWN ? more : MOST_OWN), limit->rlim_max};
  if (more == 0 || setrlimit(RLIMIT_NOFILE, &raised) < 0) {
    errno = EMFILE;
    return -1;
  }
  int high = duplicate(fd, limit->rlim_cur);
  int error = errno;
  setrlimit(RLIMIT_NOFILE, limit);
  errno = error;
  return high;
}

static int duplicate_high(int fd) {
  /* Another thread that asks for the limit meanwhile gets the wrong one. */
  if (__atomic_exchange_n(&is_raised, true, __ATOMIC_ACQUIRE)) {
    errno = EAGAIN;
    return -1;
  }
  struct rlimit limit;
  int high = -1;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    high = limit.rlim_cur >= HIGH_LIMIT ? duplicate(fd, FIRST_NUMBER) : duplicate_over(fd, &limit);
  __atomic_store_n(&is_raised, false, __ATOMIC_RELEASE);
  return high;
}

int own_number(int low) {
  int high = low < 0 ? -1 : duplicate_high(low);
  if (high < 0) return low;
  real_close(low);
  return high;
}

int own_open(const char *path, int flags, struct identity *identity) {
  int low = (int)real_syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
  if (low < 0) return -1;
  int high = duplicate_high(low);
  int error = errno;
  real_close(low);
  errno = error;
  if (high < 0 || identify(high, identity)) return high;
  real_close(high);
  return -1;
}

void own_close(int fd, const struct identity *identity) {
  struct identity found;
  if (identify(fd, &found) && is_same_file(&found, identity)) real_close(fd);
}
