/* From what a program calls a file to the key of an object below a root that need not be there. */
#ifndef TIERED_IMAGINARY_PATH_H
#define TIERED_IMAGINARY_PATH_H

#include "table.h"
#include <limits.h>

enum imaginary_kind {
  /* The path is not below an imaginary root: the kernel knows what it is. */
  IMAGINARY_NONE,
  IMAGINARY_FILE,
  IMAGINARY_DIRECTORY,
  /* It is below the root, and there is nothing. */
  IMAGINARY_NOTHING,
};

/* How a path ends: what makes or removes something goes by that. */
enum imaginary_end {
  END_NAME,
  /* With slashes behind a name. */
  END_SLASH,
  END_DOT,
  END_DOTDOT,
};

struct imaginary {
  enum imaginary_kind kind;
  const struct table *table;
  /* Of a file. */
  struct table_place place;
  struct table_source source;
  /* The key of a file or a directory, empty for the root, with a NUL. */
  size_t length;
  char key[PATH_MAX];
  enum imaginary_end end;
  /* Of nothing: ENOENT or ENOTDIR; and the same of the directory in which it would be, or 0. */
  int error, error_above;
};

/*
 * The key of a file or a directory, its length, and how the path ends. False if the path does not lead below
 * the root, or cannot be resolved. `error` is ENOENT or ENOTDIR if the path goes on by `.` or `..` from what
 * is no directory: then the key is of that. Else it is 0. `directory` is that of openat. Changes errno.
 */
bool imaginary_key(const struct table *table, int directory, const char *path, struct imaginary *found);

/*
 * The path in the tree of the directory of a key, if there is one. False if the path is too long.
 */
bool tree_path(const struct table *table, const char *key, size_t length, char path[PATH_MAX]);
/* Whether a key is of a directory. Changes errno. */
bool is_in_tree(const struct table *table, const char *key, size_t length);
/*
 * Why there is nothing at a key: ENOENT, or ENOTDIR if a file stands in the way. `is_next` says whether
 * something could be made there, as the directory is there that it would be in. Changes errno.
 */
int why_nothing(const struct table *table, const char *key, size_t length, bool *is_next);

#endif
