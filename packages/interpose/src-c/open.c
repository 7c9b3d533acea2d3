/* The functions that programs call in place of the C library's. Whatever is not plainly for reading is left to the library. */
#include "descriptors.h"
#include "imaginary.h"
#include "originals.h"
#include "real.h"
#include "redirect.h"
#include "tier-directories.h"
#include "twins.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
/* With these a file is read as ever. Any other flag means something that a copy may not do as the source does. */
#define HARMLESS (O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_LARGEFILE | O_NOFOLLOW)
/* What O_LARGEFILE is to the kernel, where the C library's is 0. */
#define KERNELS_LARGEFILE 0100000

static bool is_for_reading(int flags) { return (flags & ~(HARMLESS | KERNELS_LARGEFILE)) == O_RDONLY; }

static bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

/* A file that is opened where it is, and may get a copy later. */
struct left {
  const struct table *table;
  uint64_t slot;
};

/* Opens the copy of a file. -1 if the file is opened where it is. Not a part of its callers, for the room that it takes on the stack. */
__attribute__((noinline)) static int open_copy(const struct table *table, int directory, const char *path, int flags, const struct text *text,
                                               struct left *left) {
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

/* The same for any path. What all those pass here that are not below the root should be little. */
static inline int open_if_copied(int directory, const char *path, int flags, struct left *left) {
  const struct table *table = session_table();
  struct text text;
  left->table = NULL;
  if (table == NULL || !is_for_reading(flags) || !may_be_below(table, path, &text)) return -1;
  return open_copy(table, directory, path, flags, &text, left);
}

static inline int original(int fd, const struct left *left) {
  none_of_ours(fd);
  if (left->table != NULL) twin_watch(fd, left->table, left->slot);
  return fd;
}

/* Opens a path below an imaginary root. False if it is none. Not a part of its callers, for the room that it takes on the stack. */
__attribute__((noinline)) static bool open_found(int directory, const char *path, int flags, int *fd) {
  struct imaginary found;
  if (imaginary_look(directory, path, &found) == IMAGINARY_NONE) return false;
  *fd = imaginary_open(&found, flags);
  return true;
}

static bool open_imaginary(int directory, const char *path, int flags, int *fd) {
  return imaginary_may_be(path) && open_found(directory, path, flags, fd);
}

/* Writes what would be written to a copy to the source. False if the path leads to none. */
__attribute__((noinline)) static bool open_for_writing(const char *path, int flags, mode_t mode, int *fd) {
  struct original original;
  if (!original_of_link(path, &original)) return false;
  *fd = real_open(original.path, flags, mode);
  return true;
}

/* The function behind; `directory` is that of openat. */
typedef int (*open_function)(int directory, const char *path, int flags, mode_t mode);

static inline int open_by(open_function next, int directory, const char *path, int flags, mode_t mode) {
  int opened;
  if (session_is_imaginary && open_imaginary(directory, path, flags, &opened)) return opened;
  if (!is_for_reading(flags) && path != NULL && path[0] == '/' && open_for_writing(path, flags, mode, &opened)) return none_of_ours(opened);
  struct left left;
  int fd = open_if_copied(directory, path, flags, &left);
  if (fd >= 0) return fd;
  fd = next(directory, path, flags, mode);
  /* The directories of the tiers took numbers that the program needs now. */
  if (__builtin_expect(fd < 0, 0) && errno == EMFILE) {
    close_tiers();
    fd = next(directory, path, flags, mode);
  }
  return original(fd, &left);
}

static int next_open(int directory, const char *path, int flags, mode_t mode) {
  (void)directory;
  return real_open(path, flags, mode);
}

static int next_openat(int directory, const char *path, int flags, mode_t mode) { return real_openat(directory, path, flags, mode); }

static int next_openat_2(int directory, const char *path, int flags, mode_t mode) {
  (void)mode;
  return real_openat_2(directory, path, flags);
}

#define MODE(last)                                         \
  mode_t mode = 0;                                         \
  if (takes_mode(flags)) {                                 \
    va_list arguments;                                     \
    va_start(arguments, last);                             \
    mode = va_arg(arguments, mode_t);                      \
    va_end(arguments);                                     \
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

/* What fortified programs call. The library ends those that leave out a mode that is needed. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags) { return open_by(next_openat_2, AT_FDCWD, path, flags, 0); }

EXPORT int __open64_2(const char *path, int flags) { return open_by(next_openat_2, AT_FDCWD, path, flags | O_LARGEFILE, 0); }

EXPORT int __openat_2(int directory, const char *path, int flags) { return open_by(next_openat_2, directory, path, flags, 0); }

EXPORT int __openat64_2(int directory, const char *path, int flags) {
  return open_by(next_openat_2, directory, path, flags | O_LARGEFILE, 0);
}

static bool reads_only(const char *mode) { return mode != NULL && mode[0] == 'r' && strchr(mode, '+') == NULL; }

static FILE *original_stream(FILE *stream) {
  if (stream != NULL) none_of_ours(fileno(stream));
  return stream;
}

/* What fopen opens a file with. */
static int flags_of(const char *mode) {
  int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
  if (strchr(mode, '+') != NULL) flags = (flags & ~O_ACCMODE) | O_RDWR;
  return strchr(mode, 'e') != NULL ? flags | O_CLOEXEC : flags;
}

static FILE *fopen_imaginary(int fd, const char *mode) {
  FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
  int error = errno;
  if (stream == NULL && fd >= 0) real_close(fd);
  errno = error;
  return stream;
}

/* Where a stream writes: what would be written to a copy is written to the source. */
static const char *path_for_writing(const char *path, struct original *original) {
  return path != NULL && original_of_link(path, original) ? original->path : path;
}

__attribute__((noinline)) static FILE *fopen_for_writing(const char *path, const char *mode) {
  struct original original;
  return original_stream(real_fopen(path_for_writing(path, &original), mode));
}

static FILE *fopen_any(const char *path, const char *mode) {
  int imaginary;
  if (session_is_imaginary && mode != NULL && open_imaginary(AT_FDCWD, path, flags_of(mode), &imaginary))
    return fopen_imaginary(imaginary, mode);
  if (!reads_only(mode)) return fopen_for_writing(path, mode);
  struct redirection redirection;
  if (!redirect(AT_FDCWD, path, 0, &redirection)) return original_stream(real_fopen(path, mode));
  int error = errno;
  /* By its path: the stream has to get the lowest number that is free. */
  FILE *stream = redirection.copy_length == 0 ? NULL : real_fopen(redirection.copy, mode);
  if (stream != NULL) {
    redirected(&redirection, fileno(stream));
    return stream;
  }
  errno = error;
  not_redirected(&redirection);
  return original_stream(real_fopen(path, mode));
}

EXPORT FILE *fopen(const char *path, const char *mode) { return fopen_any(path, mode); }

EXPORT FILE *fopen64(const char *path, const char *mode) { return fopen_any(path, mode); }

/* Where the stream can be opened for a copy: freopen closes it also if it fails, so the copy is held open before. */
static int hold_copy(const struct redirection *redirection, char held[DESCRIPTOR_PATH]) {
  int fd = open_redirected(redirection, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  descriptor_path(fd, held);
  if (access(held, R_OK) == 0) return fd;
  real_close(fd);
  return -1;
}

/* Closes the stream, as freopen does, also if the file could not be opened. */
static FILE *freopen_imaginary(int fd, const char *mode, FILE *stream) {
  int error = errno;
  if (fd < 0) {
    real_freopen("", mode, stream);
    errno = error;
    return NULL;
  }
  char held[DESCRIPTOR_PATH];
  descriptor_path(fd, held);
  FILE *opened = real_freopen(held, mode, stream);
  error = errno;
  if (opened != NULL && (marks_of(fd) & MARK_COPY) != 0) mark(fileno(opened), MARK_COPY);
  real_close(fd);
  errno = error;
  return opened;
}

/* The same file in another mode: to be read, it stays the copy; else it is the source's file. */
static FILE *freopen_same(const char *mode, FILE *stream) {
  struct original original;
  int fd = fileno(stream);
  bool was_copy = original_of_copy(fd, &original);
  FILE *opened = real_freopen(was_copy && !reads_only(mode) ? original.path : NULL, mode, stream);
  if (opened != NULL && was_copy && reads_only(mode)) mark(fileno(opened), MARK_COPY);
  else original_stream(opened);
  return opened;
}

__attribute__((noinline)) static FILE *freopen_for_writing(const char *path, const char *mode, FILE *stream) {
  struct original original;
  return original_stream(real_freopen(path_for_writing(path, &original), mode, stream));
}

static FILE *freopen_any(const char *path, const char *mode, FILE *stream) {
  int imaginary;
  if (session_is_imaginary && path != NULL && mode != NULL && open_imaginary(AT_FDCWD, path, flags_of(mode), &imaginary))
    return freopen_imaginary(imaginary, mode, stream);
  if (path == NULL) return freopen_same(mode, stream);
  struct redirection redirection;
  if (!reads_only(mode)) return freopen_for_writing(path, mode, stream);
  if (!redirect(AT_FDCWD, path, 0, &redirection)) return original_stream(real_freopen(path, mode, stream));
  int error = errno;
  char held[DESCRIPTOR_PATH];
  int fd = hold_copy(&redirection, held);
  errno = error;
  if (fd < 0) {
    not_redirected(&redirection);
    return original_stream(real_freopen(path, mode, stream));
  }
  FILE *opened = real_freopen(held, mode, stream);
  error = errno;
  real_close(fd);
  errno = error;
  if (opened != NULL) redirected(&redirection, fileno(opened));
  return opened;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream) { return freopen_any(path, mode, stream); }

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream) { return freopen_any(path, mode, stream); }
