/*
 * A lock excludes processes that have the same file open, and not all have the copy: some opened the file
 * before, or for writing, or run without this library. So the lock has to be on the source's file, and be
 * released when the program's descriptor is closed, which is not always seen here. Therefore the descriptor
 * becomes one of the source's file before it is locked.
 *
 * That is right only for a descriptor that was opened here, and not duplicated. Other descriptors that share
 * its lock and offset, such as that of the shell which started `flock 9`, would keep the copy. Their locks
 * are on the copy, and exclude at least each other.
 */
#include "locks.h"
#include "known-copies.h"
#include "opened.h"
#include "originals.h"
#include "real.h"
#include "twins.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_flock, *next_lockf;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_flock, "flock");
  real_symbol(&next_lockf, "lockf64");
}

/* Puts an open file in the place of another one. */
static bool take_place(int file, int fd) {
  long flags = real_syscall(SYS_fcntl, fd, F_GETFD);
  long offset = real_syscall(SYS_lseek, fd, 0L, SEEK_CUR);
  if (flags < 0 || offset < 0 || real_syscall(SYS_lseek, file, offset, SEEK_SET) < 0) return false;
  return real_syscall(SYS_dup3, file, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) >= 0;
}

/* Not a part of its caller, for the room that it takes on the stack. */
__attribute__((noinline)) static void go_to_source(int fd, const struct table *table) {
  struct original original;
  int file = open_original(fd, table, &original);
  if (file >= 0 && take_place(file, fd)) {
    none_of_ours(fd);
    twin_watch(fd, table, original.slot);
  }
  if (file >= 0) real_close(file);
}

void lock_at_source(int fd) {
  const struct table *table = table_of_copy(fd);
  if (table == NULL || table->is_imaginary || !copy_was_opened_here(fd)) return;
  int error = errno;
  go_to_source(fd, table);
  errno = error;
}

EXPORT int flock(int fd, int operation) {
  lock_at_source(fd);
  return ((int (*)(int, int))real_symbol(&next_flock, "flock"))(fd, operation);
}

static int lockf_any(int fd, int command, off_t length) {
  lock_at_source(fd);
  return ((int (*)(int, int, off_t))real_symbol(&next_lockf, "lockf64"))(fd, command, length);
}

EXPORT int lockf(int fd, int command, off_t length) { return lockf_any(fd, command, length); }

EXPORT int lockf64(int fd, int command, off64_t length) { return lockf_any(fd, command, length); }
