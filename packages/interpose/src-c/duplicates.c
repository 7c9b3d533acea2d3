/*
 * Descriptors that are made of others, so that what is said of the file of one is said of the other. Twins
 * are not passed on: who reads by the new one reads the source.
 */
#include "descriptors.h"
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

/* Each command takes nothing, a number or a pointer, and the library passes on whatever stands there. */
static int fcntl_any(int fd, int command, void *argument) {
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
