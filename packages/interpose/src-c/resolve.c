/*
 * The problem: only a path that the kernel resolves to a file below the root may be redirected, and nearly no
 * path is below it, so the others must cost nothing.
 *
 * An absolute path without `.`, `..` and empty segments is compared as text. The table has the root's real
 * path, and those of symlinks that the user names. A path by another symlink is not found, and opens the
 * source: slower, and never wrong. `..` after a symlink does not mean the text before it, so the kernel is
 * asked about such paths, and about the directory of relative ones.
 */
#include "resolve.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The text after a root and a slash. */
static bool is_below(const struct table *table, const char *path, size_t length, struct text *text) {
  for (unsigned i = 0; i < table->root_count; i++) {
    size_t root = table->root_lengths[i];
    if (length <= root + 1 || path[root] != '/' || memcmp(path, table->roots[i], root) != 0) continue;
    *text = (struct text){path + root + 1, length - root - 1, i};
    return true;
  }
  return false;
}

/* Whether what follows a slash is a name: neither empty, nor `.` or `..`. */
static bool is_name(const char *at) {
  if ((unsigned char)*at > '/') return true;
  if (*at == '.') at += at[1] == '.' ? 2 : 1;
  return *at != '/' && *at != '\0';
}

/*
 * The end of the text, if it has only names between slashes; else NULL. Every path that a program opens
 * passes here.
 */
static const char *end_of_names(const char *path) {
  bool is_known = is_name(path);
  while (is_known) {
    /* Nearly all characters come behind the slash in ASCII. */
    while ((unsigned char)*path > '/') path++;
    if (*path == '\0') return path;
    is_known = *path != '/' || is_name(path + 1);
    path++;
  }
  return NULL;
}

static bool may_be_in(const struct table *table, const char *path, struct text *text) {
  *text = (struct text){NULL, 0, 0};
  if (path == NULL || path[0] == '\0') return false;
  const char *end = path[0] == '/' ? end_of_names(path + 1) : NULL;
  return end == NULL || is_below(table, path, (size_t)(end - path), text);
}

bool may_be_below(const struct table *table, const char *path, struct text *text) {
  if (!table->is_imaginary) return may_be_in(table, path, text);
  *text = (struct text){NULL, 0, 0};
  return false;
}

bool may_be_imaginary(const struct table *table, const char *path) {
  struct text text;
  if (!table->is_imaginary) return false;
  if (may_be_in(table, path, &text)) return true;
  for (unsigned i = 0; path != NULL && i < table->root_count; i++)
    if (strcmp(path, table->roots[i]) == 0) return true;
  return false;
}

bool ask_kernel(int directory, const char *path, int nofollow, char *room, size_t size) {
  int fd = real_openat(directory, path, O_PATH | O_CLOEXEC | nofollow);
  if (fd < 0) return false;
  bool is_known = path_of_descriptor(fd, room, size) > 0;
  real_close(fd);
  return is_known;
}

bool path_of_directory(int directory, char *room, size_t size) {
  if (directory != AT_FDCWD) return path_of_descriptor(directory, room, size) > 0;
  /* The kernel's: the library's opens directories, and takes memory, where the path is long. */
  return real_syscall(SYS_getcwd, room, size) > 0 && room[0] == '/';
}

/* A relative path behind its directory. False if that has no path, or both are too long. */
static bool join_path(int directory, const char *path, char *room, size_t size) {
  if (!path_of_directory(directory, room, size)) return false;
  size_t length = strlen(room);
  size_t more = strlen(path);
  if (length + 1 + more >= size) return false;
  if (length > 1) room[length++] = '/';
  memcpy(room + length, path, more + 1);
  return true;
}

bool key_of(const struct table *table, int directory, const char *path, int nofollow, char room[MOST_ROOM],
            struct text *text) {
  if (!may_be_below(table, path, text)) return false;
  if (text->key == NULL) {
    int error = errno;
    bool is_plain = path[0] != '/' && end_of_names(path) != NULL;
    bool is_known = is_plain ? join_path(directory, path, room, MOST_ROOM)
                             : ask_kernel(directory, path, nofollow, room, MOST_ROOM);
    if (is_known) is_below(table, room, strlen(room), text);
    errno = error;
  }
  return text->key != NULL;
}
