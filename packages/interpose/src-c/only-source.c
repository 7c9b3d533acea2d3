/*
 * Calls that work for a file of the source and not for its copy, which is on another file system, and belongs
 * to the daemon: to copy it within the file system, and to run it.
 */
#include "originals.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_copy_file_range, *next_fexecve, *next_execveat;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_copy_file_range, "copy_file_range");
  real_symbol(&next_fexecve, "fexecve");
  real_symbol(&next_execveat, "execveat");
}

/* The source's file of what may be a copy; -1 if it is none. Not inlined, for the room on the stack. */
__attribute__((noinline)) static int original_of(int fd) {
  struct original original;
  const struct table *table = table_of_copy(fd);
  int error = errno;
  int file = table == NULL || table->is_imaginary ? -1 : open_original(fd, table, &original);
  errno = error;
  return file;
}

static void close_original(int file) {
  int error = errno;
  real_close(file);
  errno = error;
}

typedef ssize_t (*copy_function)(int, off64_t *, int, off64_t *, size_t, unsigned);

/* Copies from the source's file, as if the program had that open. -1 with errno. */
static ssize_t copy_original(copy_function next, int from, off64_t *offset, int to, off64_t *to_offset,
                             size_t size, unsigned flags) {
  int file = original_of(from);
  if (file < 0) return -1;
  off64_t at = offset != NULL ? *offset : lseek64(from, 0, SEEK_CUR);
  ssize_t count = next(file, &at, to, to_offset, size, flags);
  close_original(file);
  if (count > 0 && offset != NULL) *offset = at;
  if (count > 0 && offset == NULL) lseek64(from, at, SEEK_SET);
  return count;
}

EXPORT ssize_t copy_file_range(int from, off64_t *offset, int to, off64_t *to_offset, size_t size,
                               unsigned flags) {
  copy_function next = (copy_function)real_symbol(&next_copy_file_range, "copy_file_range");
  ssize_t count = next(from, offset, to, to_offset, size, flags);
  if (count >= 0 || errno != EXDEV) return count;
  return copy_original(next, from, offset, to, to_offset, size, flags);
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[]) {
  int (*next)(int, char *const[], char *const[]) = real_symbol(&next_fexecve, "fexecve");
  int file = original_of(fd);
  if (file < 0) return next(fd, arguments, environment);
  next(file, arguments, environment);
  close_original(file);
  return -1;
}

static bool is_empty(const char *text) { return text != NULL && text[0] == '\0'; }

/* Libraries before 2.34 have none, so nobody calls it there. */
EXPORT int execveat(int directory, const char *path, char *const arguments[], char *const environment[],
                    int flags) {
  int (*next)(int, const char *, char *const[], char *const[], int) = real_symbol(&next_execveat, "execveat");
  bool is_descriptor = (flags & AT_EMPTY_PATH) != 0 && is_empty(path);
  int file = is_descriptor ? original_of(directory) : -1;
  if (file < 0) return next(directory, path, arguments, environment, flags);
  next(file, path, arguments, environment, flags);
  close_original(file);
  return -1;
}
