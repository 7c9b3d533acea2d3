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

/* The descriptor of new memory that nobody can make smaller, under whoever has mapped it, or larger. */
int make_memory(size_t length);
/*
 * Maps all of it. Memory that could be taken away again is refused, because whoever touches it then is
 * killed.
 */
int map_memory(int fd, size_t length, void **address);
/* Gives its pages back to the system; it stays mapped, and is all zeros. */
int empty_memory(void *address, size_t length);

/* Gives a descriptor to who has the other end of a connected UNIX domain socket. Waits for nothing. */
int give_descriptor(int socket, int fd);
/* The descriptor that came on a socket. Waits for nothing. */
int take_descriptor(int socket);

/* A socket that is connected to a path and has sent a greeting. Waits for nothing. */
int connect_to(const char *path, const uint8_t *greeting, size_t length);
/* The user who listens at the other end of it. */
int64_t user_behind(int socket);

#endif
