/*
 * The streams of the C library. A stream keeps the file that it opened: its reads are never switched, as its
 * buffer is out of sight.
 */
#include "descriptors.h"
#include "imaginary.h"
#include "opened.h"
#include "originals.h"
#include "real.h"
#include "redirect.h"
#include "written.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool reads_only(const char *mode) {
  return mode != NULL && mode[0] == 'r' && strchr(mode, '+') == NULL;
}

static FILE *original_stream(FILE *stream, const char *path) {
  if (stream != NULL) opened_as_it_is(fileno(stream), path);
  return stream;
}

static FILE *written_stream(FILE *stream, const char *path) {
  if (stream != NULL) written_by(fileno(stream), AT_FDCWD, path);
  return original_stream(stream, path);
}

/* The flags by which fopen opens a file. */
static int flags_of(const char *mode) {
  int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
  if (strchr(mode, '+') != NULL) flags = (flags & ~O_ACCMODE) | O_RDWR;
  if (strchr(mode, 'x') != NULL) flags |= O_EXCL;
  return strchr(mode, 'e') != NULL ? flags | O_CLOEXEC : flags;
}

static FILE *fopen_imaginary(int fd, const char *mode) {
  FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
  int error = errno;
  if (stream == NULL && fd >= 0) real_close(fd);
  errno = error;
  return stream;
}

__attribute__((noinline)) static FILE *fopen_for_writing(const char *path, const char *mode) {
  struct original original;
  const char *to = path_to_write(AT_FDCWD, path, 0, &original);
  return to == NULL && path != NULL ? NULL : written_stream(real_fopen(to, mode), to);
}

static FILE *fopen_any(const char *path, const char *mode) {
  int imaginary;
  if (session_is_imaginary && mode != NULL && imaginary_may_be(path) &&
      imaginary_open(AT_FDCWD, path, flags_of(mode), &imaginary))
    return fopen_imaginary(imaginary, mode);
  if (!reads_only(mode)) return fopen_for_writing(path, mode);
  struct redirection redirection;
  if (!redirect(AT_FDCWD, path, 0, &redirection)) return original_stream(real_fopen(path, mode), path);
  int error = errno;
  /* By its path: the stream has to get the lowest number that is free. */
  FILE *stream = redirection.copy_length == 0 ? NULL : real_fopen(redirection.copy, mode);
  if (stream != NULL) {
    redirected(&redirection, fileno(stream));
    return stream;
  }
  errno = error;
  not_redirected(&redirection);
  return original_stream(real_fopen(path, mode), path);
}

EXPORT FILE *fopen(const char *path, const char *mode) { return fopen_any(path, mode); }

EXPORT FILE *fopen64(const char *path, const char *mode) { return fopen_any(path, mode); }

/*
 * Gives what is held for a stream another number than the stream's, which freopen closes. It may have that
 * number, if the stream's descriptor was closed. -1 if there is no other.
 */
static int beside(FILE *stream, int fd) {
  if (fd < 0 || fd != fileno(stream)) return fd;
  int other = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
  int error = errno;
  real_close(fd);
  errno = error;
  return other;
}

/*
 * Holds a copy open before freopen, which closes the stream also if it fails. The path is one by which the
 * stream can be opened.
 */
static int hold_copy(const struct redirection *redirection, FILE *stream, char held[DESCRIPTOR_PATH]) {
  int fd = beside(stream, open_redirected(redirection, O_RDONLY | O_CLOEXEC));
  if (fd < 0) return -1;
  descriptor_path(fd, held);
  if (access(held, R_OK) == 0) return fd;
  real_close(fd);
  return -1;
}

/* Closes the stream, as freopen does also where nothing can be opened. Keeps errno. */
static FILE *not_reopened(const char *mode, FILE *stream) {
  int error = errno;
  real_freopen("", mode, stream);
  errno = error;
  return NULL;
}

static FILE *freopen_imaginary(int opened_at, const char *mode, FILE *stream) {
  int fd = beside(stream, opened_at);
  if (fd < 0) return not_reopened(mode, stream);
  char held[DESCRIPTOR_PATH];
  descriptor_path(fd, held);
  FILE *opened = real_freopen(held, mode, stream);
  int error = errno;
  if (opened != NULL && may_be_copy(fd)) unmark(fileno(opened), MARK_OTHER);
  real_close(fd);
  errno = error;
  return opened;
}

__attribute__((noinline)) static FILE *freopen_for_writing(const char *path, const char *mode, FILE *stream) {
  struct original original;
  const char *to = path_to_write(AT_FDCWD, path, 0, &original);
  return to == NULL ? not_reopened(mode, stream) : written_stream(real_freopen(to, mode, stream), to);
}

/* The same file in another mode: to be read, it stays the copy; else it is the source's file. */
static FILE *freopen_same(const char *mode, FILE *stream) {
  int fd = fileno(stream);
  char held[DESCRIPTOR_PATH];
  struct original original;
  bool was_copy = may_be_copy(fd);
  const char *to = held;
  descriptor_path(fd, held);
  if (was_copy && !reads_only(mode)) to = path_to_write(AT_FDCWD, held, 0, &original);
  if (to == NULL) return not_reopened(mode, stream);
  FILE *opened = real_freopen(to == held ? NULL : to, mode, stream);
  if (opened != NULL && was_copy && to == held) unmark(fileno(opened), MARK_OTHER);
  else if (reads_only(mode)) original_stream(opened, NULL);
  else written_stream(opened, NULL);
  return opened;
}

static FILE *freopen_any(const char *path, const char *mode, FILE *stream) {
  int imaginary;
  if (session_is_imaginary && mode != NULL && imaginary_may_be(path) &&
      imaginary_open(AT_FDCWD, path, flags_of(mode), &imaginary))
    return freopen_imaginary(imaginary, mode, stream);
  if (path == NULL) return freopen_same(mode, stream);
  struct redirection redirection;
  if (!reads_only(mode)) return freopen_for_writing(path, mode, stream);
  if (!redirect(AT_FDCWD, path, 0, &redirection))
    return original_stream(real_freopen(path, mode, stream), path);
  int error = errno;
  char held[DESCRIPTOR_PATH];
  int fd = hold_copy(&redirection, stream, held);
  errno = error;
  if (fd < 0) {
    not_redirected(&redirection);
    return original_stream(real_freopen(path, mode, stream), path);
  }
  FILE *opened = real_freopen(held, mode, stream);
  error = errno;
  real_close(fd);
  errno = error;
  if (opened != NULL) redirected(&redirection, fileno(opened));
  return opened;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream) {
  return freopen_any(path, mode, stream);
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream) {
  return freopen_any(path, mode, stream);
}
