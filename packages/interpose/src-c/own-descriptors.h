/*
 * Descriptors that this library opens for itself and keeps. The program does not know them: it may close
 * them, and their numbers may be used again. So each is kept together with the identity of its file.
 */
#ifndef TIERED_OWN_DESCRIPTORS_H
#define TIERED_OWN_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The identity of a descriptor's file. Numbers of files are used again, but not with the same time at which
 * they were made.
 */
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
 * Opens a path, at a number that the program does not need: it relies on getting the lowest one that is free,
 * and may need all that it may have. -1 with errno: EMFILE if there is no such number, EAGAIN if another
 * thread is asking for one just now. No point at which a thread may be cancelled.
 */
int own_open(const char *path, int flags, struct identity *identity);
/* Gives a descriptor such a number, if there is one, and else leaves it as it is. */
int own_number(int fd);
/* Closes it, if it is still open for what it was opened for. */
void own_close(int fd, const struct identity *identity);

#endif
