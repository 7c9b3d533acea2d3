/* Copies that are read by descriptors of the source's files, which were open before the copies were there. */
#ifndef TIERED_TWINS_H
#define TIERED_TWINS_H

#include "descriptors.h"
#include "session.h"

/*
 * A file that was just opened in the source for reading has no copy yet: from now on it is looked whether it
 * has one.
 */
void twin_watch(int fd, const struct table *table, uint64_t slot);
void twin_forget_marked(int fd);
/*
 * Nothing is known of a descriptor any more: it was opened for something else, or is about to be closed.
 * Keeps errno.
 */
static inline void twin_forget(int fd) {
  if ((marks_of(fd) & MARK_TWIN) != 0 && !session_is_confined) twin_forget_marked(fd);
}
int twin_of_marked(int fd);
/* The descriptor of the copy of what a descriptor is open for; -1 if it is read where it is. Keeps errno. */
static inline int twin_of(int fd) {
  return (marks_of(fd) & MARK_TWIN) != 0 && !session_is_confined ? twin_of_marked(fd) : -1;
}
/* The copy could not be read: the source is read from now on. */
void twin_failed(int fd);

#endif
