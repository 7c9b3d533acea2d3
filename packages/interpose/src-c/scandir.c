/*
 * Listings by which the C library opens and reads directories itself, out of sight of directory.c. Below an
 * imaginary root it is given the directory that stands for the one that was named, whose links are files.
 */
#include "imaginary.h"
#include "real.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#define EXPORT __attribute__((visibility("default")))

typedef int (*choose_function)(const struct dirent *);
typedef int (*compare_function)(const struct dirent **, const struct dirent **);
typedef int (*scandir_function)(const char *, struct dirent ***, choose_function, compare_function);
typedef int (*scandirat_function)(int, const char *, struct dirent ***, choose_function, compare_function);

static void *next_scandir, *next_scandirat;

/* Before the program begins, as in real.c. On this platform those of 64 bits are the same functions. */
__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_scandir, "scandir64");
  real_symbol(&next_scandirat, "scandirat64");
}

/* The filter of this thread's caller. */
static __thread choose_function chosen_by __attribute__((tls_model("initial-exec")));

/* The entry lies in the memory of the stream, and is copied from there once it is chosen. */
static int choose_file(const struct dirent *entry) {
  if (entry->d_type == DT_LNK) ((struct dirent *)entry)->d_type = DT_REG;
  return chosen_by == NULL || chosen_by(entry);
}

__attribute__((noinline)) static int scandir_any(int directory, const char *path, struct dirent ***list,
                                                 choose_function choose, compare_function compare) {
  scandirat_function next = (scandirat_function)real_symbol(&next_scandirat, "scandirat64");
  struct imaginary found;
  char tree[PATH_MAX];
  if (imaginary_look(directory, path, &found) == IMAGINARY_NONE)
    return next(directory, path, list, choose, compare);
  if (found.kind != IMAGINARY_DIRECTORY) {
    errno = found.kind == IMAGINARY_FILE ? ENOTDIR : found.error;
    return -1;
  }
  if (!imaginary_complete(&found, tree)) return -1;
  choose_function before = chosen_by;
  chosen_by = choose;
  int count = next(AT_FDCWD, tree, list, choose_file, compare);
  chosen_by = before;
  return count;
}

EXPORT int scandir(const char *path, struct dirent ***list, choose_function choose,
                   compare_function compare) {
  if (imaginary_may_be(path)) return scandir_any(AT_FDCWD, path, list, choose, compare);
  scandir_function next = (scandir_function)real_symbol(&next_scandir, "scandir64");
  return next(path, list, choose, compare);
}

EXPORT int scandirat(int directory, const char *path, struct dirent ***list, choose_function choose,
                     compare_function compare) {
  if (imaginary_may_be(path)) return scandir_any(directory, path, list, choose, compare);
  scandirat_function next = (scandirat_function)real_symbol(&next_scandirat, "scandirat64");
  return next(directory, path, list, choose, compare);
}

typedef int (*choose64_function)(const struct dirent64 *);
typedef int (*compare64_function)(const struct dirent64 **, const struct dirent64 **);

EXPORT int scandir64(const char *path, struct dirent64 ***list, choose64_function choose,
                     compare64_function compare) {
  return scandir(path, (struct dirent ***)list, (choose_function)choose, (compare_function)compare);
}

EXPORT int scandirat64(int directory, const char *path, struct dirent64 ***list, choose64_function choose,
                       compare64_function compare) {
  return scandirat(directory, path, (struct dirent ***)list, (choose_function)choose,
                   (compare_function)compare);
}
