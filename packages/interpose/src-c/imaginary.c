/*
 * The problem: a program wants to open, list and describe files that no kernel knows. They are objects, in a
 * bucket for example.
 *
 * - Files are entries of the table, which holds the answers of stat. A program that opens a file without a
 *   copy asks the daemon for one, and waits (ask.c).
 * - Directories are real ones, a tree in the directory of the session. The table names the tree as the second
 *   path of the root. So they can be opened, listed, and entered. A path that is relative to them comes back
 *   here by the path that the kernel gives. Before a directory is listed, the daemon puts the names of its
 *   files into it: links that lead nowhere, so that a program without this library finds no file rather than
 *   an empty one.
 */
#include "imaginary.h"
#include "ask.h"
#include "copy-path.h"
#include "descriptors.h"
#include "imaginary-path.h"
#include "opened.h"
#include "real.h"
#include "redirect.h"
#include "resolve.h"
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Attempts to open a copy which is evicted each time before it was opened. */
#define MOST_ATTEMPTS 20

static enum imaginary_kind kind_of(struct imaginary *found) {
  found->error_above = found->error;
  if (found->error != 0) return IMAGINARY_NOTHING;
  bool is_file = found->length > 0 && table_find(found->table, found->key, found->length, &found->place);
  if (is_file && found->end != END_SLASH) {
    table_source_of(found->table, found->place.slot, &found->source);
    return IMAGINARY_FILE;
  }
  if (is_in_tree(found->table, found->key, found->length)) return IMAGINARY_DIRECTORY;
  bool is_next = true;
  found->error = is_file ? ENOTDIR : why_nothing(found->table, found->key, found->length, &is_next);
  if (!is_next) found->error_above = found->error;
  return IMAGINARY_NOTHING;
}

bool imaginary_may_be(const char *path) {
  const struct table *table = session_is_imaginary ? session_imaginary_table() : NULL;
  return table != NULL && may_be_imaginary(table, path);
}

enum imaginary_kind imaginary_look(int directory, const char *path, struct imaginary *found) {
  found->kind = IMAGINARY_NONE;
  found->table = session_imaginary_table();
  if (found->table == NULL || path == NULL || path[0] == '\0') return IMAGINARY_NONE;
  int error = errno;
  if (imaginary_key(found->table, directory, path, found)) found->kind = kind_of(found);
  errno = error;
  return found->kind;
}

bool imaginary_complete(const struct imaginary *found, char path[PATH_MAX]) {
  char nothing[PATH_MAX];
  if (!tree_path(found->table, found->key, found->length, path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  int connection = ask(ASK_DIRECTORY, found->key, found->length, nothing);
  if (connection >= 0) end_connection(connection);
  return connection >= 0;
}

static int open_directory(const struct imaginary *found, int flags) {
  bool is_to_make = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (is_to_make || (flags & O_ACCMODE) != O_RDONLY) {
    errno = is_to_make ? EEXIST : (flags & O_TMPFILE) == O_TMPFILE ? EROFS : EISDIR;
    return -1;
  }
  char path[PATH_MAX];
  if (!imaginary_complete(found, path)) return -1;
  int fd = real_open(path, flags, 0);
  if (fd >= 0) mark(fd, MARK_TREE);
  return fd;
}

/* The daemon holds a copy for as long as this one has a connection. False if it was gone all the same. */
static bool open_when_asked(const struct imaginary *found, int flags, struct redirection *redirection,
                            int *opened) {
  char copy[PATH_MAX];
  *opened = -1;
  int connection = ask(ASK_FILE, found->key, found->length, copy);
  if (connection < 0) return true;
  /* No point at which a thread may be cancelled: it has a connection. */
  int fd = (int)real_syscall(SYS_openat, AT_FDCWD, copy, flags | O_NOFOLLOW);
  int error = errno;
  end_connection(connection);
  if (fd >= 0) {
    redirection->level = TABLE_TIERS;
    redirection->copy_length = strlen(copy);
    if (redirection->copy_length < TABLE_PATH) memcpy(redirection->copy, copy, redirection->copy_length + 1);
    else redirection->copy_length = 0;
    is_copy(fd, redirection);
  }
  errno = error;
  *opened = fd;
  return fd >= 0 || error != ENOENT;
}

static int open_file(const struct imaginary *found, int flags) {
  struct redirection redirection = {
      .table = found->table, .slot = found->place.slot, .level = found->place.level};
  redirection.copy_length =
      copy_path_of(found->table, &found->place, found->key, found->length, redirection.copy);
  int copy = open_redirected(&redirection, flags);
  if (copy >= 0) redirected(&redirection, copy);
  if (copy >= 0 || errno != ENOENT) return copy;
  not_redirected(&redirection);
  int fd;
  /* It may have been evicted between the answer and the open. */
  for (int attempt = 0; !open_when_asked(found, flags, &redirection, &fd) && attempt < MOST_ATTEMPTS;
       attempt++)
    continue;
  return fd;
}

static int open_found(const struct imaginary *found, int flags) {
  bool is_written = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
  bool may_make = (flags & O_CREAT) != 0;
  if (may_make && found->end == END_SLASH) {
    errno = found->error_above != 0 ? found->error_above : EISDIR;
    return -1;
  }
  switch (found->kind) {
    case IMAGINARY_DIRECTORY:
      return open_directory(found, flags);
    case IMAGINARY_FILE:
      if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) errno = EEXIST;
      else if ((flags & O_DIRECTORY) != 0) errno = ENOTDIR;
      else if (is_written) errno = EROFS;
      else return open_file(found, flags & ~O_CREAT);
      return -1;
    default:
      errno = may_make && found->error_above == 0 ? EROFS : found->error;
      return -1;
  }
}

bool imaginary_open(int directory, const char *path, int flags, int *fd) {
  struct imaginary found;
  if (imaginary_look(directory, path, &found) == IMAGINARY_NONE) return false;
  int error = errno;
  *fd = open_found(&found, flags);
  if (*fd >= 0) errno = error;
  return true;
}
