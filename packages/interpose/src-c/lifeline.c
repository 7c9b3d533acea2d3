/*
 * The problem: a daemon that was killed leaves a table behind that looks as it did when it lived, and a time
 * in it says little. In another time namespace, after a process was restored elsewhere, or under a library
 * that shows other times to programs, clocks are not those of the daemon.
 *
 * So the daemon holds a lock, which the kernel lets go with the process, in whatever container each is. A
 * program looks for it once, when it maps a table. From then on it goes by how far the daemon's clock got on,
 * in comparison with its own (table.c): that costs nothing, and shows a daemon that was stopped as well.
 */
#include "lifeline.h"
#include "real.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The bytes that SQLite locks, as its file format says. */
#define LOCK_FIRST 0x40000000
#define LOCK_LENGTH 512

bool lifeline_holds(const char *path) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_FIRST, .l_len = LOCK_LENGTH};
  bool holds = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  real_close(fd);
  return holds;
}
