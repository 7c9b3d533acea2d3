/* What is noted of a descriptor that was just opened, and what the daemon is told of it. */
#ifndef TIERED_OPENED_H
#define TIERED_OPENED_H

#include "descriptors.h"
#include "redirect.h"

/* The copy was opened. */
void redirected(const struct redirection *redirection, int fd);
/* The source is opened. */
void not_redirected(const struct redirection *redirection);

/* A copy was opened that nobody has to be told of. */
void is_copy(int fd, const struct redirection *redirection);

/* All that was known of a descriptor is not so any more. */
void forget_marked(int fd);

/* A descriptor was opened for something that is none of ours. */
static inline int none_of_ours(int fd) {
  if (__builtin_expect(marks_of(fd) != 0, 0)) forget_marked(fd);
  return fd;
}

#endif
