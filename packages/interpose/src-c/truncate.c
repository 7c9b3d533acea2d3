/* To cut a file off is to write to it, and takes a path where others take a descriptor. */
#include "imaginary.h"
#include "originals.h"
#include "real.h"
#include "written.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_truncate;

__attribute__((constructor)) static void find_all(void) { real_symbol(&next_truncate, "truncate64"); }

/* Not a part of its caller, for the room that it takes on the stack. */
__attribute__((noinline)) static bool is_refused(const char *path) {
  struct imaginary found;
  switch (imaginary_look(AT_FDCWD, path, &found)) {
    case IMAGINARY_NONE:
      return false;
    case IMAGINARY_FILE:
      errno = EROFS;
      return true;
    default:
      errno = found.kind == IMAGINARY_DIRECTORY ? EISDIR : found.error;
      return true;
  }
}

static int truncate_any(const char *path, off_t length) {
  if (imaginary_may_be(path) && is_refused(path)) return -1;
  struct original original;
  const char *to = path_to_write(AT_FDCWD, path, 0, &original);
  if (to == NULL && path != NULL) return -1;
  written_at(AT_FDCWD, to);
  return ((int (*)(const char *, off_t))real_symbol(&next_truncate, "truncate64"))(to, length);
}

EXPORT int truncate(const char *path, off_t length) { return truncate_any(path, length); }

EXPORT int truncate64(const char *path, off64_t length) { return truncate_any(path, length); }
