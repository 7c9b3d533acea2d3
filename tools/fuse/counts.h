/* What reached the file system since it was mounted, or reset. */
#ifndef SLOW_FS_COUNTS_H
#define SLOW_FS_COUNTS_H

#include <stdatomic.h>
#include <stddef.h>

enum { LOOKUP, GETATTR, OPEN, READ, BYTES, RELEASE, KINDS };
extern atomic_llong counts[KINDS];

/* Writes them as a line of JSON, and says how long it is; with `reset` it is counted from 0 again. */
size_t write_counts(char *text, size_t room, int reset);

#endif
