#include "own-descriptors.h"
#include "real.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_NUMBER 512

static int64_t nanoseconds(const struct statx_timestamp *time) { return time->tv_sec * 1000000000 + time->tv_nsec; }

bool identify(int fd, struct identity *identity) {
  struct statx found;
  unsigned mask = STATX_INO | STATX_SIZE | STATX_MTIME | STATX_BTIME;
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &found) < 0) return false;
  int64_t made = (found.stx_mask & STATX_BTIME) != 0 ? nanoseconds(&found.stx_btime) : 0;
  *identity = (struct identity){found.stx_ino, found.stx_size, found.stx_dev_major, found.stx_dev_minor, made, nanoseconds(&found.stx_mtime)};
  return true;
}

static bool is_same_file(const struct identity *a, const struct identity *b) {
  return a->inode == b->inode && a->major == b->major && a->minor == b->minor && a->made == b->made;
}

bool is_open_for(int fd, const struct identity *known) {
  struct identity found;
  return identify(fd, &found) && is_same_file(&found, known) && found.size == known->size && found.modified == known->modified;
}

int own_open(const char *path, int flags, struct identity *identity) {
  int low = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
  if (low < 0) return -1;
  int high = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, FIRST_NUMBER);
  real_close(low);
  if (high < 0 || identify(high, identity)) return high;
  real_close(high);
  return -1;
}

void own_close(int fd, const struct identity *identity) {
  struct identity found;
  if (identify(fd, &found) && is_same_file(&found, identity)) real_close(fd);
}
