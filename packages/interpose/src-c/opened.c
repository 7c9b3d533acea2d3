#include "opened.h"
#include "known-copies.h"
#include "twins.h"

uint8_t descriptor_marks[MOST_MARKED];

void is_copy(int fd, const struct redirection *redirection) {
  forget(fd);
  copy_known(fd, redirection);
}

void redirected(const struct redirection *redirection, int fd) {
  is_copy(fd, redirection);
  session_tell(redirection->table, RING_COPY, redirection->slot);
}

void not_redirected(const struct redirection *redirection) {
  session_tell(redirection->table, redirection->is_written ? RING_WRITTEN : RING_SOURCE, redirection->slot);
}

void forget_marked(int fd) {
  twin_forget(fd);
  unmark(fd, MARK_OTHER);
  unmark(fd, MARK_TREE);
}
