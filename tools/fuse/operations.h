/* What the kernel asks for. */
#ifndef SLOW_FS_OPERATIONS_H
#define SLOW_FS_OPERATIONS_H

#include <fuse_lowlevel.h>

/* Calls that wait at the same time. A process of Node makes at most 1024, one for each thread of libuv. */
#define MOST_THREADS 1100

/* Milliseconds that each call waits. */
extern double open_ms, read_ms, stat_ms;
/* For so long the kernel may answer look-ups and `stat` itself. */
extern double cache_seconds;

extern const struct fuse_lowlevel_ops operations;

#endif
