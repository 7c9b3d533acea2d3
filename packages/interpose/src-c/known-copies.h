/* The copy of a descriptor, if it can be known for less than the kernel takes to spell its path. */
#ifndef TIERED_KNOWN_COPIES_H
#define TIERED_KNOWN_COPIES_H

#include "table.h"
#include <sys/stat.h>

/*
 * The identity of a file. A number of a file that is gone is used again, but not with the same time of
 * its last change.
 */
struct file_identity {
  uint64_t inode;
  uint64_t device;
  int64_t changed_seconds, changed_nanoseconds;
};

static inline struct file_identity identity_of(const struct stat *stat) {
  return (struct file_identity){stat->st_ino, stat->st_dev, stat->st_ctim.tv_sec, stat->st_ctim.tv_nsec};
}

struct redirection;

/* A descriptor was opened for a copy. */
void copy_known(int fd, const struct redirection *redirection);
/* Whether a descriptor is one of a copy that this process opened by this number, and no parent of it. */
bool copy_was_opened_here(int fd);
/*
 * The metadata of the source's file, if the descriptor is still one of that copy by the identity that the
 * kernel has just given. False if it is not known. Changes errno.
 */
bool copy_source(int fd, const struct file_identity *identity, const struct table *table,
                 struct table_source *source);

#endif
