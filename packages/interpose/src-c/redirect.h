/* The copy of a file. */
#ifndef TIERED_REDIRECT_H
#define TIERED_REDIRECT_H

#include "resolve.h"
#include "session.h"
#include "table.h"

/* A file of the table that is opened for reading. */
struct redirection {
  const struct table *table;
  uint64_t slot;
  /* The tier of its copy; TABLE_TIERS if that may be anywhere. */
  unsigned level;
  /* Whether it is known that it is no link. */
  bool is_no_link;
  /* Whether a program changed it: then it has no copy. */
  bool is_written;
  /* The path of its copy, and its length; empty if it has none. */
  size_t copy_length;
  char copy[TABLE_PATH];
};

/* The part of `redirect` for paths that the text does not rule out. */
bool redirect_text(const struct table *table, int directory, const char *path, int flags,
                   const struct text *text, struct redirection *redirection);

/*
 * Looks for what is to be opened, of whose flags only O_NOFOLLOW matters. False if that is no file of the
 * table. Keeps errno. Safe in signal handlers and in children of fork and vfork: it takes no lock and no
 * memory.
 */
static inline bool redirect(int directory, const char *path, int flags, struct redirection *redirection) {
  const struct table *table = session_table();
  struct text text;
  return table != NULL && may_be_below(table, path, &text) &&
         redirect_text(table, directory, path, flags, &text, redirection);
}

/* Opens the copy, for reading. -1 with errno. */
int open_redirected(const struct redirection *redirection, int flags);

#endif
