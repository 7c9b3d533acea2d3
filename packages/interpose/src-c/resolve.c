/*
 * The problem: only a path that the kernel resolves to a file below the root may be redirected, and nearly no path is below it,
 * so the others must cost nothing.
 *
 * An absolute path without `.`, `..` and empty segments is compared as text. The table has the root's real path, and those of
 * links that the user names. Who comes to the root by another link is not found, and opens the source: slower, and never wrong.
 * `..` behind a symbolic link is not what the text says, so the kernel is asked about such paths, and about the directory of
 * relative ones.
 */
#include "resolve.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What stands behind a root and a slash; NULL if the path is below none. */
static const char *below(const struct table *table, const char *path) {
  for (unsigned i = 0; i < table->root_count; i++) {
    size_t length = table->root_lengths[i];
    if (strncmp(path, table->roots[i], length) == 0 && path[length] == '/') return path + length + 1;
  }
  return NULL;
}

/* Whether what follows a slash is a name: neither empty, nor `.` or `..`. */
static bool is_name(const char *at) {
  if ((unsigned char)*at > '/') return true;
  if (*at == '.') at += at[1] == '.' ? 2 : 1;
  return *at != '/' && *at != '\0';
}

/* Whether what follows a slash has only names. Every path that a program opens passes here. */
static bool is_canonical(const char *path) {
  bool is_known = is_name(path);
  while (is_known) {
    /* Nearly all characters come behind the slash in ASCII. */
    while ((unsigned char)*path > '/') path++;
    if (*path == '\0') break;
    is_known = *path != '/' || is_name(path + 1);
    path++;
  }
  return is_known;
}

/* The path as the kernel resolves it, by opening the file without reading it. */
static bool ask_kernel(int directory, const char *path, int nofollow, char room[PATH_MAX]) {
  int fd = real_openat(directory, path, O_PATH | O_CLOEXEC | nofollow);
  if (fd < 0) return false;
  bool is_known = path_of_descriptor(fd, room, PATH_MAX) > 0;
  real_close(fd);
  return is_known;
}

static const char *key_in(const struct table *table, const char *path, size_t *length) {
  const char *key = below(table, path);
  if (key != NULL) *length = strlen(key);
  return key;
}

bool join_path(int directory, const char *path, char room[PATH_MAX]) {
  bool is_known = directory == AT_FDCWD ? getcwd(room, PATH_MAX) != NULL && room[0] == '/' : path_of_descriptor(directory, room, PATH_MAX) > 0;
  if (!is_known) return false;
  size_t length = strlen(room);
  size_t more = strlen(path);
  if (length + 1 + more >= PATH_MAX) return false;
  if (length > 1) room[length++] = '/';
  memcpy(room + length, path, more + 1);
  return true;
}

const char *key_of(const struct table *table, int directory, const char *path, int nofollow, char room[PATH_MAX], size_t *length) {
  if (table->is_imaginary || path == NULL || path[0] == '\0') return NULL;
  int error = errno;
  const char *key = NULL;
  bool is_whole = is_canonical(path[0] == '/' ? path + 1 : path);
  if (room == NULL && !(is_whole && path[0] == '/')) {
    *length = KEY_NEEDS_ROOM;
  } else if (!is_whole) {
    if (ask_kernel(directory, path, nofollow, room)) key = key_in(table, room, length);
  } else if (path[0] == '/') {
    key = key_in(table, path, length);
  } else if (join_path(directory, path, room)) {
    key = key_in(table, room, length);
  }
  errno = error;
  return key;
}
