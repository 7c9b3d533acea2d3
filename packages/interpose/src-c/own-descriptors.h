/*
 * Descriptors that this library opens for itself and keeps. The program knows nothing of them: it may close them, and their numbers
 * may be used again. So whoever keeps one also keeps what it was opened for.
 */
#ifndef TIERED_OWN_DESCRIPTORS_H
#define TIERED_OWN_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* What a descriptor is open for. Numbers of files are used again, but not with the same time at which they were made. */
struct identity {
  uint64_t inode, size;
  uint32_t major, minor;
  int64_t made, modified;
};

/* As the kernel knows it, without asking a server. */
bool identify(int fd, struct identity *identity);
/* Whether a descriptor is open for this file, and that is as it was. */
bool is_open_for(int fd, const struct identity *known);

/*
 * Opens a path, at a number that no program asks for: programs rely on getting the lowest one that is free. -1 with errno. No point
 * at which a thread may be cancelled.
 */
int own_open(const char *path, int flags, struct identity *identity);
/* Closes it, if it is still open for what it was opened for. */
void own_close(int fd, const struct identity *identity);

#endif
