/* The mounts that this process sees. */
#ifndef TIERED_MOUNTS_H
#define TIERED_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A number for the mounts below a directory, which differs if they differ: the sum of the XXH64 of `DEVICE
 * ROOT PATH` for each mount, with its path behind that of the directory. That of `` is for all mounts. False
 * if they cannot be read. Asks no server. By one thread at a time. Changes errno.
 */
bool mounts_below(const char *directory, uint64_t *sum);

#endif
