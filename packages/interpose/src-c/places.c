/*
 * Calls after which a path leads this process elsewhere: what is redirected by its text would be another
 * file.
 */
#include "real.h"
#include "session.h"
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_chroot, *next_unshare, *next_setns, *next_mount, *next_umount, *next_umount2,
    *next_move_mount;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_chroot, "chroot");
  real_symbol(&next_unshare, "unshare");
  real_symbol(&next_setns, "setns");
  real_symbol(&next_mount, "mount");
  real_symbol(&next_umount, "umount");
  real_symbol(&next_umount2, "umount2");
  real_symbol(&next_move_mount, "move_mount");
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

/* Another mount may be below the root now. */
static int expect_mounts(int result) {
  session_expect_mounts();
  return result;
}

EXPORT int mount(const char *from, const char *to, const char *kind, unsigned long flags, const void *data) {
  int (*next)(const char *, const char *, const char *, unsigned long, const void *) =
      real_symbol(&next_mount, "mount");
  return expect_mounts(next(from, to, kind, flags, data));
}

EXPORT int umount(const char *path) {
  return expect_mounts(((int (*)(const char *))real_symbol(&next_umount, "umount"))(path));
}

EXPORT int umount2(const char *path, int flags) {
  return expect_mounts(((int (*)(const char *, int))real_symbol(&next_umount2, "umount2"))(path, flags));
}

/* Libraries before 2.36 have none, so nobody calls it there. */
int move_mount(int from, const char *name, int to, const char *path, unsigned flags);
EXPORT int move_mount(int from, const char *name, int to, const char *path, unsigned flags) {
  int (*next)(int, const char *, int, const char *, unsigned) = real_symbol(&next_move_mount, "move_mount");
  return expect_mounts(next(from, name, to, path, flags));
}
