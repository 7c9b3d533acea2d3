/*
 * The problem: below an imaginary root, paths lead to no files, but to directories of the session that stand
 * for some. A change of one of these would change it for all programs. So the functions that make, change or
 * remove something refuse there, as on a file system that is mounted for reading (refusals.c). All else goes
 * to the functions behind.
 *
 * A path that need not be looked up costs a comparison of its beginning, and where no root is imaginary, a
 * look at a variable.
 */
#include "imaginary.h"
#include "originals.h"
#include "real.h"
#include "refusals.h"
#include "written.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#define EXPORT __attribute__((visibility("default")))

static bool is_refused(enum change change, int directory, const char *path) {
  int error = imaginary_may_be(path) ? refusal(change, directory, path) : 0;
  if (error != 0) errno = error;
  else if (is_of_what_is_there(change)) written_at(directory, path);
  return error != 0;
}

/*
 * The path of calls that take an empty path, or none, for the descriptor itself. The library declares that
 * there is always one, and compilers rely on it: hence volatile.
 */
static const char *or_itself(const char *volatile given) {
  const char *path = given;
  return path == NULL || path[0] == '\0' ? "." : path;
}

/*
 * A function that is refused below an imaginary root. The one behind is found before the program begins, as
 * in real.c.
 */
#define REFUSED(type, name, parameters, arguments, nothing, ...)                                   \
  static void *next_##name;                                                                        \
  __attribute__((constructor)) static void find_##name(void) { real_symbol(&next_##name, #name); } \
  EXPORT type name parameters {                                                                    \
    if (is_refused(__VA_ARGS__)) return nothing;                                                   \
    return ((type(*) parameters)real_symbol(&next_##name, #name))arguments;                        \
  }

/* Functions that make something. */
REFUSED(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, MAKE_DIRECTORY, AT_FDCWD, path)
REFUSED(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), -1, MAKE_DIRECTORY, at, path)
REFUSED(int, mkfifo, (const char *path, mode_t mode), (path, mode), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkfifoat, (int at, const char *path, mode_t mode), (at, path, mode), -1, MAKE_FILE, at, path)
REFUSED(int, symlink, (const char *to, const char *path), (to, path), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, symlinkat, (const char *to, int at, const char *path), (to, at, path), -1, MAKE_FILE, at, path)
REFUSED(char *, mkdtemp, (char *path), (path), NULL, MAKE_DIRECTORY, AT_FDCWD, path)
REFUSED(int, mkstemp, (char *path), (path), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkstemp64, (char *path), (path), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkostemp, (char *path, int flags), (path, flags), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkostemp64, (char *path, int flags), (path, flags), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkstemps, (char *path, int end), (path, end), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkstemps64, (char *path, int end), (path, end), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkostemps, (char *path, int end, int flags), (path, end, flags), -1, MAKE_FILE, AT_FDCWD, path)
REFUSED(int, mkostemps64, (char *path, int end, int flags), (path, end, flags), -1, MAKE_FILE, AT_FDCWD, path)

/* Functions that remove something. */
REFUSED(int, unlink, (const char *path), (path), -1, REMOVE_FILE, AT_FDCWD, path)
REFUSED(int, unlinkat, (int at, const char *path, int flags), (at, path, flags), -1,
        (flags & AT_REMOVEDIR) != 0 ? REMOVE_DIRECTORY : REMOVE_FILE, at, path)
REFUSED(int, rmdir, (const char *path), (path), -1, REMOVE_DIRECTORY, AT_FDCWD, path)
REFUSED(int, remove, (const char *path), (path), -1, REMOVE, AT_FDCWD, path)

/* Functions that change metadata. */
REFUSED(int, chmod, (const char *path, mode_t mode), (path, mode), -1, ALTER, AT_FDCWD, path)
REFUSED(int, lchmod, (const char *path, mode_t mode), (path, mode), -1, ALTER, AT_FDCWD, path)
REFUSED(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, ALTER, fd, ".")
REFUSED(int, fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags), -1, ALTER,
        at, or_itself(path))
REFUSED(int, chown, (const char *path, uid_t user, gid_t group), (path, user, group), -1, ALTER, AT_FDCWD,
        path)
REFUSED(int, lchown, (const char *path, uid_t user, gid_t group), (path, user, group), -1, ALTER, AT_FDCWD,
        path)
REFUSED(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), -1, ALTER, fd, ".")
REFUSED(int, fchownat, (int at, const char *path, uid_t user, gid_t group, int flags),
        (at, path, user, group, flags), -1, ALTER, at, or_itself(path))
REFUSED(int, utime, (const char *path, const struct utimbuf *times), (path, times), -1, ALTER, AT_FDCWD, path)
REFUSED(int, utimes, (const char *path, const struct timeval times[2]), (path, times), -1, ALTER, AT_FDCWD,
        path)
REFUSED(int, lutimes, (const char *path, const struct timeval times[2]), (path, times), -1, ALTER, AT_FDCWD,
        path)
REFUSED(int, futimes, (int fd, const struct timeval times[2]), (fd, times), -1, ALTER, fd, ".")
REFUSED(int, futimesat, (int at, const char *path, const struct timeval times[2]), (at, path, times), -1,
        ALTER, at, or_itself(path))
REFUSED(int, futimens, (int fd, const struct timespec times[2]), (fd, times), -1, ALTER, fd, ".")
REFUSED(int, utimensat, (int at, const char *path, const struct timespec times[2], int flags),
        (at, path, times, flags), -1, ALTER, at, or_itself(path))

/* The copy of a descriptor's file is not cut off, but the source's file. */
static void *next_truncate;

static int truncate_any(const char *path, off_t length) {
  int error = imaginary_may_be(path) ? refusal(CUT, AT_FDCWD, path) : 0;
  if (error != 0) {
    errno = error;
    return -1;
  }
  struct original original;
  const char *to = path_to_write(AT_FDCWD, path, 0, &original);
  if (to == NULL && path != NULL) return -1;
  written_at(AT_FDCWD, to);
  return ((int (*)(const char *, off_t))real_symbol(&next_truncate, "truncate64"))(to, length);
}

EXPORT int truncate(const char *path, off_t length) { return truncate_any(path, length); }

EXPORT int truncate64(const char *path, off64_t length) { return truncate_any(path, length); }

/* Attributes of a user's own. */
REFUSED(int, setxattr, (const char *path, const char *name, const void *value, size_t size, int flags),
        (path, name, value, size, flags), -1, ALTER, AT_FDCWD, path)
REFUSED(int, lsetxattr, (const char *path, const char *name, const void *value, size_t size, int flags),
        (path, name, value, size, flags), -1, ALTER, AT_FDCWD, path)
REFUSED(int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags),
        (fd, name, value, size, flags), -1, ALTER, fd, ".")
REFUSED(int, removexattr, (const char *path, const char *name), (path, name), -1, ALTER, AT_FDCWD, path)
REFUSED(int, lremovexattr, (const char *path, const char *name), (path, name), -1, ALTER, AT_FDCWD, path)
REFUSED(int, fremovexattr, (int fd, const char *name), (fd, name), -1, ALTER, fd, ".")
REFUSED(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size),
        (path, name, value, size), -1, ASK, AT_FDCWD, path)
REFUSED(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size),
        (path, name, value, size), -1, ASK, AT_FDCWD, path)

/* Nothing there has attributes, and to list none is no error. */
static bool lists_none(const char *path, ssize_t *count) {
  int error = imaginary_may_be(path) ? refusal(ASK, AT_FDCWD, path) : 0;
  *count = error == ENOTSUP ? 0 : -1;
  if (error != 0 && error != ENOTSUP) errno = error;
  return error != 0;
}

typedef ssize_t (*list_function)(const char *, char *, size_t);
static void *next_listxattr, *next_llistxattr;

EXPORT ssize_t listxattr(const char *path, char *names, size_t size) {
  ssize_t count;
  if (lists_none(path, &count)) return count;
  return ((list_function)real_symbol(&next_listxattr, "listxattr"))(path, names, size);
}

EXPORT ssize_t llistxattr(const char *path, char *names, size_t size) {
  ssize_t count;
  if (lists_none(path, &count)) return count;
  return ((list_function)real_symbol(&next_llistxattr, "llistxattr"))(path, names, size);
}

static bool is_rename_refused(const struct two_paths *paths, bool may_replace) {
  bool may_be = imaginary_may_be(paths->from) || imaginary_may_be(paths->to);
  int error = may_be ? rename_refusal(paths, may_replace) : 0;
  if (error != 0) errno = error;
  else written_renamed(paths->from_directory, paths->from, paths->to_directory, paths->to);
  return error != 0;
}

static bool is_link_refused(const struct two_paths *paths, int flags) {
  const struct two_paths given = {paths->from_directory, or_itself(paths->from), paths->to_directory,
                                  paths->to};
  bool may_be = imaginary_may_be(given.from) || imaginary_may_be(given.to);
  int error = may_be ? link_refusal(&given, (flags & AT_SYMLINK_FOLLOW) != 0) : 0;
  if (error != 0) errno = error;
  return error != 0;
}

static void *next_rename, *next_renameat, *next_renameat2, *next_link, *next_linkat, *next_mknodat,
    *next_xmknodat;

EXPORT int rename(const char *from, const char *to) {
  if (is_rename_refused(&(struct two_paths){AT_FDCWD, from, AT_FDCWD, to}, true)) return -1;
  return ((int (*)(const char *, const char *))real_symbol(&next_rename, "rename"))(from, to);
}

EXPORT int renameat(int at, const char *from, int to_at, const char *to) {
  if (is_rename_refused(&(struct two_paths){at, from, to_at, to}, true)) return -1;
  return ((int (*)(int, const char *, int, const char *))real_symbol(&next_renameat, "renameat"))(at, from,
                                                                                                  to_at, to);
}

EXPORT int renameat2(int at, const char *from, int to_at, const char *to, unsigned flags) {
  if (is_rename_refused(&(struct two_paths){at, from, to_at, to}, (flags & RENAME_NOREPLACE) == 0)) return -1;
  return ((int (*)(int, const char *, int, const char *, unsigned))real_symbol(&next_renameat2, "renameat2"))(
      at, from, to_at, to, flags);
}

EXPORT int link(const char *from, const char *to) {
  if (is_link_refused(&(struct two_paths){AT_FDCWD, from, AT_FDCWD, to}, 0)) return -1;
  return ((int (*)(const char *, const char *))real_symbol(&next_link, "link"))(from, to);
}

EXPORT int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  if (is_link_refused(&(struct two_paths){at, from, to_at, to}, flags)) return -1;
  return ((int (*)(int, const char *, int, const char *, int))real_symbol(&next_linkat, "linkat"))(
      at, from, to_at, to, flags);
}

/* Before version 2.33 the library has it by another name only. */
#define MKNOD_VERSION 0
int __xmknod(int version, const char *path, mode_t mode, dev_t *device);
int __xmknodat(int version, int at, const char *path, mode_t mode, dev_t *device);

static int mknod_any(int at, const char *path, mode_t mode, dev_t device) {
  if (is_refused(MAKE_FILE, at, path)) return -1;
  void *next = real_symbol(&next_mknodat, "mknodat");
  if (next != NULL) return ((int (*)(int, const char *, mode_t, dev_t))next)(at, path, mode, device);
  next = real_symbol(&next_xmknodat, "__xmknodat");
  return ((int (*)(int, int, const char *, mode_t, dev_t *))next)(MKNOD_VERSION, at, path, mode, &device);
}

EXPORT int mknod(const char *path, mode_t mode, dev_t device) {
  return mknod_any(AT_FDCWD, path, mode, device);
}

EXPORT int mknodat(int at, const char *path, mode_t mode, dev_t device) {
  return mknod_any(at, path, mode, device);
}

EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device) {
  (void)version;
  return mknod_any(AT_FDCWD, path, mode, *device);
}

EXPORT int __xmknodat(int version, int at, const char *path, mode_t mode, dev_t *device) {
  (void)version;
  return mknod_any(at, path, mode, *device);
}

__attribute__((constructor)) static void find_others(void) {
  real_symbol(&next_truncate, "truncate64");
  real_symbol(&next_listxattr, "listxattr");
  real_symbol(&next_llistxattr, "llistxattr");
  real_symbol(&next_rename, "rename");
  real_symbol(&next_renameat, "renameat");
  real_symbol(&next_renameat2, "renameat2");
  real_symbol(&next_link, "link");
  real_symbol(&next_linkat, "linkat");
  real_symbol(&next_mknodat, "mknodat");
  real_symbol(&next_xmknodat, "__xmknodat");
}
