/* How programs open files. An open that is not plainly for reading is left to the C library. */
#include "imaginary.h"
#include "opened.h"
#include "originals.h"
#include "real.h"
#include "redirect.h"
#include "twins.h"
#include "written.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#define EXPORT __attribute__((visibility("default")))
/*
 * With these a file is read as ever. Any other flag means something that a copy may not do as the source
 * does.
 */
#define HARMLESS (O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_LARGEFILE | O_NOFOLLOW)
/* The kernel's O_LARGEFILE, as the C library's may be 0. */
#define KERNELS_LARGEFILE 0100000

static bool is_for_reading(int flags) { return (flags & ~(HARMLESS | KERNELS_LARGEFILE)) == O_RDONLY; }

static bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

/* A file that is opened where it is, and may get a copy later. */
struct left {
  const struct table *table;
  uint64_t slot;
};

/*
 * Opens the copy of a file. -1 if the file is opened where it is. Not a part of its callers, for the room
 * that it takes on the stack.
 */
__attribute__((noinline)) static int open_copy(const struct table *table, int directory, const char *path,
                                               int flags, const struct text *text, struct left *left) {
  struct redirection redirection;
  if (!redirect_text(table, directory, path, flags, text, &redirection)) return -1;
  int error = errno;
  /* It may have been evicted just now. */
  bool may_be_refused = (flags & O_NOFOLLOW) != 0 && !redirection.is_no_link;
  int fd = may_be_refused ? -1 : open_redirected(&redirection, flags);
  if (fd >= 0) {
    redirected(&redirection, fd);
    return fd;
  }
  errno = error;
  not_redirected(&redirection);
  *left = (struct left){redirection.table, redirection.slot};
  return -1;
}

/* The same for any path. Most paths are not below the root, and should cost little here. */
static inline int open_if_copied(int directory, const char *path, int flags, struct left *left) {
  const struct table *table = session_table();
  struct text text;
  left->table = NULL;
  if (table == NULL || !is_for_reading(flags) || !may_be_below(table, path, &text)) return -1;
  return open_copy(table, directory, path, flags, &text, left);
}

static inline int original(int fd, const char *path, const struct left *left) {
  opened_as_it_is(fd, path);
  if (left->table != NULL) twin_watch(fd, left->table, left->slot);
  return fd;
}

/* Whether what is done with a file may be what must not be done with a copy. Directories are none. */
static bool may_write(int flags) { return !is_for_reading(flags) && (flags & (O_PATH | O_DIRECTORY)) == 0; }

static bool may_change(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

/* The function behind; `directory` is that of openat. */
typedef int (*open_function)(int directory, const char *path, int flags, mode_t mode);

__attribute__((noinline)) static int open_for_writing(open_function next, int directory, const char *path,
                                                      int flags, mode_t mode) {
  struct original original;
  bool is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  const char *to = is_new ? path : path_to_write(directory, path, flags & O_NOFOLLOW, &original);
  if (to == NULL && path != NULL) return -1;
  int fd = none_of_ours(to == path ? next(directory, path, flags, mode) : real_open(to, flags, mode));
  return may_change(flags) ? written_by(fd, directory, to) : fd;
}

static inline int open_by(open_function next, int directory, const char *path, int flags, mode_t mode) {
  int opened;
  if (session_is_imaginary && imaginary_may_be(path) && imaginary_open(directory, path, flags, &opened))
    return opened;
  if (may_write(flags)) return open_for_writing(next, directory, path, flags, mode);
  struct left left;
  int fd = open_if_copied(directory, path, flags, &left);
  return fd >= 0 ? fd : original(next(directory, path, flags, mode), path, &left);
}

static int next_open(int directory, const char *path, int flags, mode_t mode) {
  (void)directory;
  return real_open(path, flags, mode);
}

static int next_openat(int directory, const char *path, int flags, mode_t mode) {
  return real_openat(directory, path, flags, mode);
}

static int next_openat_2(int directory, const char *path, int flags, mode_t mode) {
  (void)mode;
  return real_openat_2(directory, path, flags);
}

#define MODE(last)                    \
  mode_t mode = 0;                    \
  if (takes_mode(flags)) {            \
    va_list arguments;                \
    va_start(arguments, last);        \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

EXPORT int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_by(next_open, AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
  MODE(flags)
  return open_by(next_open, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

EXPORT int openat(int directory, const char *path, int flags, ...) {
  MODE(flags)
  return open_by(next_openat, directory, path, flags, mode);
}

EXPORT int openat64(int directory, const char *path, int flags, ...) {
  MODE(flags)
  return open_by(next_openat, directory, path, flags | O_LARGEFILE, mode);
}

EXPORT int creat(const char *path, mode_t mode) {
  return open_by(next_open, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

EXPORT int creat64(const char *path, mode_t mode) {
  return open_by(next_open, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC | O_LARGEFILE, mode);
}

/* For fortified programs. The library ends those that leave out a mode that is needed. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags) { return open_by(next_openat_2, AT_FDCWD, path, flags, 0); }

EXPORT int __open64_2(const char *path, int flags) {
  return open_by(next_openat_2, AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

EXPORT int __openat_2(int directory, const char *path, int flags) {
  return open_by(next_openat_2, directory, path, flags, 0);
}

EXPORT int __openat64_2(int directory, const char *path, int flags) {
  return open_by(next_openat_2, directory, path, flags | O_LARGEFILE, 0);
}
