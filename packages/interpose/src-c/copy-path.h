/* The places of copies on their tiers: the names that `copyName` of @tiered/core gives them. */
#ifndef TIERED_COPY_PATH_H
#define TIERED_COPY_PATH_H

#include "table.h"

/*
 * Writes the path of a copy, with a NUL, and says how long it is. 0, and no path, if the place is no tier of
 * the table, and for keys whose copies have other names: those with a segment of special meaning, and long
 * ones.
 */
size_t copy_path_of(const struct table *table, const struct table_place *place, const char *key,
                    size_t length, char path[TABLE_PATH]);

/*
 * The key of the copy at a path, with its length, and its tag. False if no copy that `copy_path_of` finds has
 * that path. The key has no NUL behind it.
 */
bool key_of_copy(const struct table *table, const char *path, size_t path_length, char key[TABLE_COPY],
                 size_t *length, uint64_t *tag);

/* Whether there is a copy at a path, also one whose name does not say the key. */
bool is_copy_path(const struct table *table, const char *path, size_t length);

#endif
