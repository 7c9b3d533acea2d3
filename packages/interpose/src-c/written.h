/* Which files of the source programs have changed, and so are read in the source. */
#ifndef TIERED_WRITTEN_H
#define TIERED_WRITTEN_H

#include "table.h"

/* Whether any was changed: one look at memory, which every open of a file of the table takes. */
bool is_any_written(const struct table *table);
/* Whether a file was, as far as can be told: another one may be taken for it. */
bool is_written(const struct table *table, const char *key, size_t length);

/* A descriptor was opened for writing, by a path. Nothing if it was not. All keep errno. */
int written_by(int fd, int directory, const char *path);
/*
 * The file at a path is changed or removed, now or soon. `directory` is that of openat; "." is the file of
 * that descriptor itself.
 */
void written_at(int directory, const char *path);
/* It is renamed, and with a directory all that is in it. */
void written_renamed(int directory, const char *from, int to_directory, const char *to);

#endif
