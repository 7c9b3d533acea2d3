/*
 * Memory that two processes have mapped, and how one gets it from the other. No descriptor outlasts the
 * handover, so that it goes with the last of the two, however that ends. All of these return a negative errno
 * if they fail.
 */
#ifndef TIERED_SHARED_MEMORY_H
#define TIERED_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Beyond this it is a mistake. */
#define MOST_SHARED (1024.0 * 1024 * 1024)

/* Makes memory that nobody can make smaller or larger, and returns its descriptor. */
int make_memory(size_t length);
/*
 * Maps all of it. Refuses memory that could be taken away again, because that would kill a process which
 * touches it.
 */
int map_memory(int fd, size_t length, void **address);
/* Gives its pages back to the system; it stays mapped, and is all zeros. */
int empty_memory(void *address, size_t length);

/* Sends a descriptor to the other end of a connected UNIX domain socket. Waits for nothing. */
int give_descriptor(int socket, int fd);
/* The descriptor that came on a socket. Waits for nothing. */
int take_descriptor(int socket);

/* A socket that is connected to a path and has sent a greeting. Waits for nothing. */
int connect_to(const char *path, const uint8_t *greeting, size_t length);
/* The user of the process at its other end. */
int64_t user_behind(int socket);

#endif
