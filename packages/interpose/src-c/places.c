/* Calls after which a path may lead this process elsewhere. */
#include "real.h"
#include "tier-directories.h"
#include <sched.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_chroot, *next_unshare, *next_setns;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_chroot, "chroot");
  real_symbol(&next_unshare, "unshare");
  real_symbol(&next_setns, "setns");
}

EXPORT int chroot(const char *path) {
  forget_tiers();
  return ((int (*)(const char *))real_symbol(&next_chroot, "chroot"))(path);
}

EXPORT int unshare(int flags) {
  forget_tiers();
  return ((int (*)(int))real_symbol(&next_unshare, "unshare"))(flags);
}

EXPORT int setns(int fd, int kind) {
  forget_tiers();
  return ((int (*)(int, int))real_symbol(&next_setns, "setns"))(fd, kind);
}
