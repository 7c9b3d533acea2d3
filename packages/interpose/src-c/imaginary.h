/* A root that need not be there: its files are objects of a source that is no file system. */
#ifndef TIERED_IMAGINARY_H
#define TIERED_IMAGINARY_H

#include "imaginary-path.h"

/* Whether a path may be below the root. Costs little, and takes nothing of the stack. */
bool imaginary_may_be(const char *path);
/*
 * The kind of a path: to be asked only if it may be below, as it takes some room on the stack. Keeps errno.
 * Safe in signal handlers and in children of fork and vfork.
 */
enum imaginary_kind imaginary_look(int directory, const char *path, struct imaginary *found);
/*
 * The path in the tree of an imaginary directory, once it has the names of all its files. False with
 * errno.
 */
bool imaginary_complete(const struct imaginary *found, char path[PATH_MAX]);

/*
 * Opens a path that may be below, for reading: waits until the daemon has made it readable. False if it is
 * not below. Else the descriptor, or -1 with errno; EROFS for whatever would write.
 */
bool imaginary_open(int directory, const char *path, int flags, int *fd);

#endif
