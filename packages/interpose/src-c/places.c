/*
 * Calls after which a path leads this process elsewhere: what is redirected by its text would be another
 * file.
 */
#include "real.h"
#include "session.h"
#include <sched.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_chroot, *next_unshare, *next_setns;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_chroot, "chroot");
  real_symbol(&next_unshare, "unshare");
  real_symbol(&next_setns, "setns");
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
