/*
 * Marks of descriptors, a byte for each. Most programs open thousands of files outside of the source, and
 * must not pay for it. Descriptors also come unseen: from the parent of the program, or from inside of the C
 * library. So an unmarked one may be a copy, and its file is looked at before anything relies on that.
 */
#ifndef TIERED_DESCRIPTORS_H
#define TIERED_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* Those from here on are taken for others. */
#define MOST_MARKED 65536

enum mark {
  /* It was opened here, for something that is no copy. */
  MARK_OTHER = 1,
  /* A directory that stands for an imaginary one. */
  MARK_TREE = 2,
  /* A file of the source whose copy is read, or will be (twins.c). */
  MARK_TWIN = 4,
};

extern uint8_t descriptor_marks[MOST_MARKED];

static inline unsigned marks_of(int fd) {
  return fd >= 0 && fd < MOST_MARKED ? __atomic_load_n(&descriptor_marks[fd], __ATOMIC_RELAXED) : MARK_OTHER;
}

static inline bool may_be_copy(int fd) { return (marks_of(fd) & MARK_OTHER) == 0; }

static inline void mark(int fd, enum mark what) {
  if (fd >= 0 && fd < MOST_MARKED && (marks_of(fd) & what) == 0)
    __atomic_fetch_or(&descriptor_marks[fd], what, __ATOMIC_RELAXED);
}

static inline void unmark(int fd, enum mark what) {
  if (fd >= 0 && fd < MOST_MARKED && (marks_of(fd) & what) != 0)
    __atomic_fetch_and(&descriptor_marks[fd], (uint8_t)~what, __ATOMIC_RELAXED);
}

#endif
