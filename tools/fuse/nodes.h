/* What the kernel knows by number, found by path. */
#ifndef SLOW_FS_NODES_H
#define SLOW_FS_NODES_H

#include <fuse_lowlevel.h>
#include <stdint.h>
#include <sys/stat.h>

/* The directory that is mirrored. */
extern int root_fd;

/* The files with the counts, which no listing shows. */
enum { COUNTS, RESET, OWN_FILES };
fuse_ino_t own_file(int which);
int is_own(fuse_ino_t ino);
/* The one of this name in the root; 0 if it is none. */
fuse_ino_t own_file_of(fuse_ino_t parent, const char *name);

/* Below the root. */
const char *path_of(fuse_ino_t ino);
/* Counts as one look-up, until it is forgotten. */
fuse_ino_t node_of(fuse_ino_t parent, const char *name);
void forget_node(fuse_ino_t ino, uint64_t lookups);
/* 0, or an errno. */
int stat_node(fuse_ino_t ino, struct stat *attr);

#endif
