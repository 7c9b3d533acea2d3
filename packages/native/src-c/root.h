/* The directory that no read and no write of a pool may leave. */
#ifndef TIERED_ROOT_H
#define TIERED_ROOT_H

#include <stdbool.h>

struct root {
  /* A real path, without a slash at its end but for "/" itself. */
  char *path;
  /* Always of the directory at that path, or of one that was there before. */
  int fd;
  /* Whether the kernel itself keeps what is opened inside (openat2, Linux 5.6). */
  bool has_openat2;
};

/* False with errno set. */
bool open_root(struct root *root, const char *path);
void close_root(struct root *root);

/* Whether a key is a path below the root: not empty, not absolute, without `..`. */
bool is_key(const char *key);
/*
 * Opens a key. Returns a descriptor or a code: OUTSIDE, INVALID_KEY, or a negative errno. O_CREAT must not be
 * among the flags.
 */
int open_inside(struct root *root, const char *key, int flags);
/* The same for the directory that holds a key; `name` is set to the part of the key that is left. */
int open_directory_of(struct root *root, const char *key, int flags, const char **name);

#endif
