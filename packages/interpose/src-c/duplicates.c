/*
 * Descriptors that come from others: by dup, and by a message of another process. A duplicate of a copy is
 * one. A twin is not passed on, so a duplicate reads the source. A received descriptor may be a copy that the
 * sender opened. fcntl takes locks as well.
 */
#include "descriptors.h"
#include "locks.h"
#include "opened.h"
#include "real.h"
#include "twins.h"
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_dup, *next_dup2, *next_dup3, *next_fcntl, *next_recvmsg, *next_recvmmsg;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_dup, "dup");
  real_symbol(&next_dup2, "dup2");
  real_symbol(&next_dup3, "dup3");
  real_symbol(&next_fcntl, "fcntl64");
  real_symbol(&next_recvmsg, "recvmsg");
  real_symbol(&next_recvmmsg, "recvmmsg");
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

/* The kernel closes the former file of `to`. */
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

static void look_into(struct msghdr *message) {
  if (message->msg_control == NULL) return;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      forget(fd);
    }
  }
}

EXPORT ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  ssize_t (*next)(int, struct msghdr *, int) = real_symbol(&next_recvmsg, "recvmsg");
  ssize_t received = next(socket, message, flags);
  if (received >= 0) look_into(message);
  return received;
}

EXPORT int recvmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout) {
  int (*next)(int, struct mmsghdr *, unsigned, int, struct timespec *) =
      real_symbol(&next_recvmmsg, "recvmmsg");
  int received = next(socket, messages, count, flags, timeout);
  for (int i = 0; i < received; i++) look_into(&messages[i].msg_hdr);
  return received;
}
