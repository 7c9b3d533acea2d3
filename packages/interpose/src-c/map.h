/* Files that are shared with the daemon. */
#ifndef TIERED_MAP_H
#define TIERED_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Maps a file with at least so many bytes. NULL, with errno, if it cannot be opened; EACCES if others than
 * this user and root may write it, and EINVAL if it is too short.
 */
uint8_t *map_private_file(const char *path, size_t least, int protection, size_t *length);

#endif
