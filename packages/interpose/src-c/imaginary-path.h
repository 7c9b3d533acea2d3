/* From what a program calls a file to the key of an object below a root that need not be there. */
#ifndef TIERED_IMAGINARY_PATH_H
#define TIERED_IMAGINARY_PATH_H

#include "table.h"
#include <limits.h>

/*
 * The key of a file or a directory, which is empty for the root, with a NUL, and its length. False if the
 * path does not lead below the root, or if that cannot be told. `error` is ENOENT or ENOTDIR if it goes on
 * from what is no directory, by `.`, `..` or a slash at its end: then the key is of that. Else it is 0.
 * `directory` is that of openat. Changes errno.
 */
bool imaginary_key(const struct table *table, int directory, const char *path, char key[PATH_MAX],
                   size_t *length, int *error);

/*
 * Where the directory is that stands for the one of a key, if there is one. False if the path is too long.
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
