/* What is mounted, as this process sees it. */
#ifndef TIERED_MOUNTS_H
#define TIERED_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A number for what is mounted below a directory, which is another one where something else is: the sum of
 * XXH64 of `DEVICE ROOT PATH` for each mount, with its path behind that of the directory. That of `` is for
 * all that is mounted. False if it cannot be told. Asks no server. By one thread at a time. Changes errno.
 */
bool mounts_below(const char *directory, uint64_t *sum);

#endif
