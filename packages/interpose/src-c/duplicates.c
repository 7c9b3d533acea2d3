/*
 * Descriptors that are made of others, so that what is said of the file of one is said of the other. Twins
 * are not passed on: who reads by the new one reads the source. The same function takes locks.
 */
#include "descriptors.h"
#include "locks.h"
#include "real.h"
#include "twins.h"
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_dup, *next_dup2, *next_dup3, *next_fcntl;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_dup, "dup");
  real_symbol(&next_dup2, "dup2");
  real_symbol(&next_dup3, "dup3");
  real_symbol(&next_fcntl, "fcntl64");
}

static int made_of(int from, int to) {
  if (to < 0 || to == from) return to;
  twin_forget(to);
  /* It is not marked as another one: a child of vfork writes into the marks of its parent. */
  if (may_be_copy(from)) unmark(to, MARK_OTHER);
  if ((marks_of(from) & MARK_TREE) != 0) mark(to, MARK_TREE);
  else unmark(to, MARK_TREE);
  return to;
}

EXPORT int dup(int from) { return made_of(from, ((int (*)(int))real_symbol(&next_dup, "dup"))(from)); }

/* What `to` was open for is closed by the kernel. */
EXPORT int dup2(int from, int to) {
  if (from != to) twin_forget(to);
  return made_of(from, ((int (*)(int, int))real_symbol(&next_dup2, "dup2"))(from, to));
}

EXPORT int dup3(int from, int to, int flags) {
  if (from != to) twin_forget(to);
  return made_of(from, ((int (*)(int, int, int))real_symbol(&next_dup3, "dup3"))(from, to, flags));
}

static bool is_about_locks(int command) {
  switch (command) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_SETLEASE:
      return true;
    default:
      return false;
  }
}

/* Each command takes nothing, a number or a pointer, and the library passes on whatever stands there. */
static int fcntl_any(int fd, int command, void *argument) {
  if (is_about_locks(command)) lock_at_source(fd);
  int result = ((int (*)(int, int, ...))real_symbol(&next_fcntl, "fcntl64"))(fd, command, argument);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? made_of(fd, result) : result;
}

#define FCNTL                                 \
  va_list arguments;                          \
  va_start(arguments, command);               \
  void *argument = va_arg(arguments, void *); \
  va_end(arguments);                          \
  return fcntl_any(fd, command, argument)

EXPORT int fcntl(int fd, int command, ...) { FCNTL; }

EXPORT int fcntl64(int fd, int command, ...) { FCNTL; }
