/* The source's file of a copy. */
#ifndef TIERED_ORIGINALS_H
#define TIERED_ORIGINALS_H

#include "table.h"

struct original {
  uint64_t slot;
  struct table_source source;
  /* Its path, by the first root that leads there. */
  char path[TABLE_PATH];
};

/*
 * The table of the copy that a descriptor may be of; NULL if it is of none. It may be that of a daemon that
 * has ended.
 */
const struct table *table_of_copy(int fd);
/*
 * Finds out of which copy a descriptor is by the path that the kernel has for it, also if that was deleted.
 * Changes errno.
 */
bool original_by_path(int fd, const struct table *table, struct original *original);
/*
 * Opens the source's file of a copy for reading, if it is still the one that was copied. It stays open in
 * what the process runs, and waits for nobody, if the descriptor does. -1 if that cannot be. No point at
 * which a thread may be cancelled. Changes errno.
 */
int open_original(int fd, const struct table *table, struct original *original);
/*
 * The path that takes the writes of a program to a path. It is the same one, unless that leads to a copy: a
 * program can name an open file, as /dev/fd/3. Then it is that of the source's file: writes through a copy's
 * descriptor go there. NULL
 * with errno if nothing can be written there: EROFS for a copy of an object; EMFILE or ENFILE if that cannot
 * be found out, and nothing could be opened. Else errno is kept. `directory` is that of openat, `nofollow`
 * O_NOFOLLOW or 0.
 *
 * Only paths that end in a number, or in stdin and the like, are looked up, which takes 7 us where opening a
 * file takes 4. So a link of another name that leads to /dev/fd/3 is not recognised.
 */
const char *path_to_write(int directory, const char *path, int nofollow, struct original *original);

#endif
