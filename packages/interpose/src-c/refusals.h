/* The errors of a file system that is mounted for reading, for what changes something below an imaginary
 * root. */
#ifndef TIERED_REFUSALS_H
#define TIERED_REFUSALS_H

#include <stdbool.h>

enum change {
  MAKE_DIRECTORY,
  /* Also symbolic links, and whatever else is no directory. */
  MAKE_FILE,
  REMOVE_FILE,
  REMOVE_DIRECTORY,
  /* As remove(3): either. */
  REMOVE,
  /* Changes what is known of something that is there. */
  ALTER,
  /* As truncate(2). */
  CUT,
  /* Asks for attributes, which nothing has there. */
  ASK,
};

static inline bool is_of_what_is_there(enum change change) {
  return change != MAKE_DIRECTORY && change != MAKE_FILE && change != ASK;
}

/* A path that gets another name. The directories are those of openat. */
struct two_paths {
  int from_directory;
  const char *from;
  int to_directory;
  const char *to;
};

/* The error; 0 if the path is below no imaginary root. To be asked only if it may be below. Keep errno. */
int refusal(enum change change, int directory, const char *path);
/* The same, if either path is below. */
int rename_refusal(const struct two_paths *paths, bool may_replace);
int link_refusal(const struct two_paths *paths, bool follows);

#endif
