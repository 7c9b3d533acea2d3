/* From what a program calls a file to the key of an object. */
#ifndef TIERED_RESOLVE_H
#define TIERED_RESOLVE_H

#include "table.h"
#include <limits.h>
#include <stdint.h>

/* The longest key: what a path may have, behind the root. */
#define MOST_KEY PATH_MAX

#define KEY_NEEDS_ROOM SIZE_MAX

/*
 * The key of the file that the kernel would open for a path, and its length; NULL if it is not below the root, or if that cannot
 * be told. It is in the path itself, or in `room`. `directory` is that of openat, `nofollow` O_NOFOLLOW or 0. Without room, which
 * takes much of a small stack, `length` is KEY_NEEDS_ROOM for paths that need it. Keeps errno.
 */
const char *key_of(const struct table *table, int directory, const char *path, int nofollow, char room[PATH_MAX], size_t *length);

/* A relative path behind its directory, which is that of openat. False if that has no path, or both are too long. */
bool join_path(int directory, const char *path, char room[PATH_MAX]);

#endif
