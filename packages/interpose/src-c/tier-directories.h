/*
 * The directories of the tiers, held open: the kernel finds a copy from there without going through the whole
 * path, which saves more than everything else here costs.
 */
#ifndef TIERED_TIER_DIRECTORIES_H
#define TIERED_TIER_DIRECTORIES_H

#include "table.h"
#include <sys/stat.h>

/* Opens those of a table, in place of those of the one before. By one thread at a time. */
void open_tiers(const struct table *table);
/* Closes them: copies are opened by their paths from now on. */
void close_tiers(void);
/*
 * Opens a copy for reading, of which this is the whole path. -1 if it cannot be opened in this way. Keeps
 * errno.
 */
int open_in_tier(const struct table *table, unsigned level, const char *path, int flags);
/* Describes the file at the path of a copy, which may be a link. Changes errno. */
int stat_in_tier(const struct table *table, unsigned level, const char *path, struct stat *found);

#endif
