#include "descriptors.h"
#include "twins.h"

uint8_t descriptor_marks[MOST_MARKED];

void forget_marked(int fd) {
  twin_forget(fd);
  unmark(fd, MARK_COPY);
  unmark(fd, MARK_TREE);
}
