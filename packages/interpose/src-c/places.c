/*
 * Calls after which nothing is redirected: a path leads this process elsewhere, so that what is found by its
 * text would be another file; or the process confines itself, and is killed for calls of the kernel that it
 * does not expect to make.
 */
#include "real.h"
#include "session.h"
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_chroot, *next_unshare, *next_setns, *next_prctl;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_chroot, "chroot");
  real_symbol(&next_unshare, "unshare");
  real_symbol(&next_setns, "setns");
  real_symbol(&next_prctl, "prctl");
}

/* Programs that are run from here find the session again, if the root is the daemon's to them too. */
static int end_session(int result) {
  if (result == 0) session_end();
  return result;
}

EXPORT int chroot(const char *path) {
  return end_session(((int (*)(const char *))real_symbol(&next_chroot, "chroot"))(path));
}

EXPORT int unshare(int flags) {
  int result = ((int (*)(int))real_symbol(&next_unshare, "unshare"))(flags);
  return (flags & (CLONE_NEWNS | CLONE_FS)) != 0 ? end_session(result) : result;
}

EXPORT int setns(int fd, int kind) {
  return end_session(((int (*)(int, int))real_symbol(&next_setns, "setns"))(fd, kind));
}

/*
 * Who may not get privileges any more is about to say what it may call, which may be done in ways that are
 * not seen here.
 */
EXPORT int prctl(int option, ...) {
  unsigned long given[4];
  va_list arguments;
  va_start(arguments, option);
  for (int i = 0; i < 4; i++) given[i] = va_arg(arguments, unsigned long);
  va_end(arguments);
  if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) session_confine();
  int (*next)(int, ...) = real_symbol(&next_prctl, "prctl");
  return next(option, given[0], given[1], given[2], given[3]);
}
