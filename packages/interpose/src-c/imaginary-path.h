/* From what a program calls a file to the key of an object below a root that need not be there. */
#ifndef TIERED_IMAGINARY_PATH_H
#define TIERED_IMAGINARY_PATH_H

#include "table.h"
#include <limits.h>

/*
 * The key of a file or a directory, which is empty for the root, with a NUL, and its length. False if the
 * path does not lead below the root, or if that cannot be told. `directory` is that of openat. Changes errno.
 */
bool imaginary_key(const struct table *table, int directory, const char *path, char key[PATH_MAX],
                   size_t *length);

#endif
