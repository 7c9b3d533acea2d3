/* Of which file of the source a copy is. */
#ifndef TIERED_ORIGINALS_H
#define TIERED_ORIGINALS_H

#include "table.h"

struct original {
  struct table_source source;
  /* Its path, by the first root. */
  char path[TABLE_PATH];
};

/* The table of the copy that a descriptor may be of; NULL if it is of none. It may be that of a daemon that has ended. */
const struct table *table_of_copy(int fd);
/* Finds out of which copy a descriptor is by the path that the kernel has for it, also if that was deleted. Changes errno. */
bool original_by_path(int fd, const struct table *table, struct original *original);
/* The same for a descriptor that may be one of a copy; false for all others. Keeps errno. */
bool original_of_copy(int fd, struct original *original);
/*
 * The same for a path such as /dev/fd/3, which leads to what a process has open. Programs that write there write to a copy
 * otherwise. Keeps errno.
 */
bool original_of_link(const char *path, struct original *original);

#endif
