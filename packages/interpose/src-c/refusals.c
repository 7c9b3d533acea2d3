/*
 * The problem: Linux has a certain error for each change that a read-only mount refuses, and programs go by
 * it. Linux finds the directory of a name first, then it looks at how the path ends, and then at the mount.
 * Only what makes something, or changes what is there, looks for the name itself. So a missing file cannot be
 * removed because the mount is read-only (EROFS), and not because it is missing.
 *
 * The root is where the mount would be. Its own name is in a directory outside of the mount.
 */
#include "refusals.h"
#include "imaginary.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A part of `struct imaginary`, which takes much room on the stack. */
struct target {
  enum imaginary_kind kind;
  enum imaginary_end end;
  /* Whether it is the name of the root. */
  bool is_root;
  int error, error_above;
};

#define APART __attribute__((noinline)) static

APART struct target target_of(int directory, const char *path) {
  struct imaginary found = {.kind = IMAGINARY_NONE};
  imaginary_look(directory, path, &found);
  bool has_name = found.kind != IMAGINARY_NONE && found.end != END_DOT && found.end != END_DOTDOT;
  return (struct target){found.kind, found.end, has_name && found.length == 0, found.error,
                         found.error_above};
}

static bool is_there(const struct target *target) {
  return target->kind == IMAGINARY_FILE || target->kind == IMAGINARY_DIRECTORY;
}

static bool ends_in_dots(const struct target *target) {
  return target->end == END_DOT || target->end == END_DOTDOT;
}

static int error_to_make(const struct target *target, bool is_directory) {
  if (target->error_above != 0) return target->error_above;
  /* A file with a slash behind its name is there, too. */
  if (is_there(target) || target->error == ENOTDIR) return EEXIST;
  return target->end == END_SLASH && !is_directory ? ENOENT : EROFS;
}

static int error_to_remove_file(const struct target *target) {
  return target->is_root || ends_in_dots(target) ? EISDIR : EROFS;
}

static int error_to_remove_directory(const struct target *target) {
  if (target->is_root) return EBUSY;
  return target->end == END_DOT ? EINVAL : target->end == END_DOTDOT ? ENOTEMPTY : EROFS;
}

static int error_of(enum change change, const struct target *target) {
  if (change == MAKE_DIRECTORY || change == MAKE_FILE) return error_to_make(target, change == MAKE_DIRECTORY);
  if (change == ALTER || change == ASK)
    return !is_there(target) ? target->error : change == ALTER ? EROFS : ENOTSUP;
  if (change == CUT && target->kind == IMAGINARY_DIRECTORY) return EISDIR;
  if (change == CUT) return is_there(target) ? EROFS : target->error;
  if (target->error_above != 0) return target->error_above;
  int error = change == REMOVE_DIRECTORY ? EISDIR : error_to_remove_file(target);
  return error == EISDIR && change != REMOVE_FILE ? error_to_remove_directory(target) : error;
}

int refusal(enum change change, int directory, const char *path) {
  struct target target = target_of(directory, path);
  return target.kind == IMAGINARY_NONE ? 0 : error_of(change, &target);
}

/* The error of what is not below the root: of the directory of a name, or of all of it. */
static int error_outside(int directory, const char *path, int flags) {
  struct stat stat;
  int before = errno;
  int error = real_stat(directory, path, flags, &stat) == 0 ? 0 : errno;
  errno = before;
  return error;
}

APART int error_above_outside(int directory, const char *path) {
  char above[PATH_MAX];
  size_t length = path == NULL ? PATH_MAX : strlen(path);
  while (length > 0 && length < PATH_MAX && path[length - 1] == '/') length--;
  while (length > 0 && length < PATH_MAX && path[length - 1] != '/') length--;
  if (length >= PATH_MAX) return path == NULL ? EFAULT : ENAMETOOLONG;
  memcpy(above, length > 0 ? path : "./", length > 0 ? length : 2);
  above[length > 0 ? length : 2] = '\0';
  return error_outside(directory, above, 0);
}

static int error_above(const struct target *target, int directory, const char *path) {
  return target->kind == IMAGINARY_NONE ? error_above_outside(directory, path) : target->error_above;
}

/* Whether the directory of the name is in the mount. */
static bool is_inside(const struct target *target) {
  return target->kind != IMAGINARY_NONE && !target->is_root;
}

/* Both names are outside of the mount, and one is that of the root, which is busy. */
static int error_at_root(const struct two_paths *paths, const struct target *from, const struct target *to,
                         bool may_replace) {
  struct stat other;
  int before = errno;
  int result = from->is_root ? real_stat(paths->to_directory, paths->to, AT_SYMLINK_NOFOLLOW, &other)
                             : real_stat(paths->from_directory, paths->from, AT_SYMLINK_NOFOLLOW, &other);
  int error = result == 0 ? 0 : errno;
  errno = before;
  if (error != 0) return from->is_root ? EBUSY : error;
  if (!may_replace) return EEXIST;
  if (S_ISDIR(other.st_mode)) return EBUSY;
  return from->is_root || to->end == END_SLASH ? ENOTDIR : EISDIR;
}

int rename_refusal(const struct two_paths *paths, bool may_replace) {
  struct target from = target_of(paths->from_directory, paths->from);
  struct target to = target_of(paths->to_directory, paths->to);
  if (from.kind == IMAGINARY_NONE && to.kind == IMAGINARY_NONE) return 0;
  int error = error_above(&from, paths->from_directory, paths->from);
  if (error == 0) error = error_above(&to, paths->to_directory, paths->to);
  if (error != 0) return error;
  if (is_inside(&from) != is_inside(&to)) return EXDEV;
  if (!is_inside(&from)) return error_at_root(paths, &from, &to, may_replace);
  if (ends_in_dots(&from)) return EBUSY;
  return !ends_in_dots(&to) ? EROFS : may_replace ? EBUSY : EEXIST;
}

int link_refusal(const struct two_paths *paths, bool follows) {
  struct target from = target_of(paths->from_directory, paths->from);
  struct target to = target_of(paths->to_directory, paths->to);
  if (from.kind == IMAGINARY_NONE && to.kind == IMAGINARY_NONE) return 0;
  int error = from.error;
  if (from.kind == IMAGINARY_NONE)
    error = error_outside(paths->from_directory, paths->from, follows ? 0 : AT_SYMLINK_NOFOLLOW);
  if (error != 0) return error;
  if (to.kind != IMAGINARY_NONE) return error_to_make(&to, false);
  error = error_above_outside(paths->to_directory, paths->to);
  if (error != 0) return error;
  return error_outside(paths->to_directory, paths->to, AT_SYMLINK_NOFOLLOW) == 0 ? EEXIST : EXDEV;
}
