/* From what a program calls a file to the key of an object. */
#ifndef TIERED_RESOLVE_H
#define TIERED_RESOLVE_H

#include "table.h"
#include <stdint.h>

/*
 * Of a path that was asked for, with a NUL. Longer ones are not found: stacks are small, and their files have
 * no copies.
 */
#define MOST_ROOM TABLE_PATH

/*
 * The key in the text of a path; NULL if the kernel has to be asked. It is in the path itself,
 * behind one of the roots.
 */
struct text {
  const char *key;
  size_t length;
  unsigned root;
};

/* Whether a path may be one below the root, going by its text alone. Nearly no path is. */
bool may_be_below(const struct table *table, const char *path, struct text *text);

/* The same for an imaginary root, which may be the path itself. */
bool may_be_imaginary(const struct table *table, const char *path);

/*
 * The key of the file that the kernel would open for a path. False if it is not below the root, or if that
 * cannot be told. It is in the path itself, or in `room`. `directory` is that of openat, `nofollow`
 * O_NOFOLLOW or 0. Keeps errno.
 */
bool key_of(const struct table *table, int directory, const char *path, int nofollow, char room[MOST_ROOM],
            struct text *text);

/*
 * The path of a directory, which is that of openat. False if the kernel has no path for it, or one that is
 * too long. Changes errno.
 */
bool path_of_directory(int directory, char *room, size_t size);
/*
 * A path as the kernel resolves it, by opening the file without reading it; `room` may be the path. Changes
 * errno.
 */
bool ask_kernel(int directory, const char *path, int nofollow, char *room, size_t size);

#endif
