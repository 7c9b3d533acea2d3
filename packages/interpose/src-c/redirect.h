/* Where a file is read in place of the source. */
#ifndef TIERED_REDIRECT_H
#define TIERED_REDIRECT_H

#include "table.h"

/* A file of the table that is opened for reading. */
struct redirection {
  const struct table *table;
  uint64_t slot;
  /* Whether it is known that it is no link. */
  bool is_no_link;
  /* The path of its copy; empty if it has none. */
  char copy[TABLE_PATH];
};

/*
 * Looks for what is to be opened, of whose flags only O_NOFOLLOW matters. False if that is no file of the table. Keeps errno. Safe in signal handlers and in children of
 * fork and vfork: it takes no lock and no memory.
 */
bool redirect(int directory, const char *path, int flags, struct redirection *redirection);
/* The copy was opened. */
void redirected(const struct redirection *redirection, int fd);
/* The source is opened. */
void not_redirected(const struct redirection *redirection);

void is_copy(int fd);
/* Whether a descriptor may be one of a copy. */
bool may_be_copy(int fd);
/* A descriptor is one of something else. */
void is_no_copy(int fd);

/* What a descriptor may be, another one may be too. */
void is_copied(int from, int to);

/* The same for directories that stand for imaginary ones. */
void is_tree(int fd);
bool may_be_tree(int fd);
void is_no_tree(int fd);

#endif
