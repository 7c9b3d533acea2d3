/* Notes of a descriptor that was just opened, and the messages about it to the daemon. */
#ifndef TIERED_OPENED_H
#define TIERED_OPENED_H

#include "descriptors.h"
#include "redirect.h"
#include <string.h>

/* The copy was opened. */
void redirected(const struct redirection *redirection, int fd);
/* The source is opened. */
void not_redirected(const struct redirection *redirection);

/* A copy was opened that nobody has to be told of. */
void is_copy(int fd, const struct redirection *redirection);

/* All that was known of a descriptor is not so any more. */
void forget_marked(int fd);
static inline void forget(int fd) {
  if (marks_of(fd) != 0) forget_marked(fd);
}

/* A descriptor was opened for something that is none of ours. */
static inline int none_of_ours(int fd) {
  if (__builtin_expect(marks_of(fd) != MARK_OTHER, 0)) {
    forget_marked(fd);
    mark(fd, MARK_OTHER);
  }
  return fd;
}

/*
 * Whether a path may be a name of what is open, such as /dev/fd/3, or 3 in that directory. Nearly none is.
 */
static inline bool may_name_open(const char *path) {
  if (path == NULL) return false;
  /* Two letters are enough for nearly all, and cost no call. */
  if (path[0] == '/')
    return (path[1] == 'd' && path[2] == 'e' && strncmp(path, "/dev/", 5) == 0) ||
           (path[1] == 'p' && path[2] == 'r' && strncmp(path, "/proc/", 6) == 0);
  return path[0] >= '0' && path[0] <= '9';
}

/* A path was opened as it is: there may be a copy behind it that is open already. */
static inline int opened_as_it_is(int fd, const char *path) {
  none_of_ours(fd);
  if (__builtin_expect(may_name_open(path), 0)) unmark(fd, MARK_OTHER);
  return fd;
}

#endif
