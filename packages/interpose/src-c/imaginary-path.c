/*
 * The problem: the kernel does not know the root, so it cannot resolve a path below it. But `..` after a
 * symlink does not mean the text before it.
 *
 * A path is written down name by name. In its part without symlinks, `..` takes the last name away: below the
 * root, where there are none, and in a directory that the kernel resolved. After any other name, the kernel
 * is asked for the directory above it. It knows, as a path to the root has only real directories before it.
 *
 * Below the root, only a directory can be followed by `.` or `..`, as in the kernel, so it is looked up. It
 * is not looked up before a name: either there is an object of the whole key, or there is nothing.
 */
#include "imaginary-path.h"
#include "real.h"
#include "resolve.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct walk {
  const struct table *table;
  /* Absolute, without a slash at its end, and with a NUL. */
  char *path;
  size_t length;
  /* So much of it leads through no link. */
  size_t known;
};

/* The text after a root: a slash and more, or nothing. NULL if the path is below none. */
static const char *behind_root(const struct table *table, const char *path) {
  for (unsigned i = 0; i < table->root_count; i++) {
    size_t length = table->root_lengths[i];
    if (strncmp(path, table->roots[i], length) == 0 && (path[length] == '/' || path[length] == '\0'))
      return path + length;
  }
  return NULL;
}

static void end_at(struct walk *walk, size_t length) {
  walk->path[length] = '\0';
  walk->length = length;
}

static bool enter(struct walk *walk, const char *name, size_t length) {
  if (walk->length + 1 + length >= PATH_MAX) return false;
  walk->path[walk->length] = '/';
  memcpy(walk->path + walk->length + 1, name, length);
  end_at(walk, walk->length + 1 + length);
  if (behind_root(walk->table, walk->path) != NULL) walk->known = walk->length;
  return true;
}

static bool leave(struct walk *walk) {
  size_t length = walk->length;
  if (length > walk->known) {
    if (!enter(walk, "..", 2) || !ask_kernel(AT_FDCWD, walk->path, 0, walk->path, PATH_MAX)) return false;
    length = strlen(walk->path);
    /* The directory that is above all. */
    if (length == 1) length = 0;
  } else {
    while (length > 0 && walk->path[--length] != '/') continue;
  }
  end_at(walk, length);
  walk->known = length;
  return true;
}

static bool begin(struct walk *walk, int directory, const char *path) {
  if (path[0] != '/' && !path_of_directory(directory, walk->path, PATH_MAX)) return false;
  size_t length = path[0] == '/' ? 0 : strlen(walk->path);
  end_at(walk, length == 1 ? 0 : length);
  walk->known = walk->length;
  return true;
}

bool tree_path(const struct table *table, const char *key, size_t length, char path[PATH_MAX]) {
  if (table->root_count < 2 || table->root_lengths[1] + 1 + length >= PATH_MAX) return false;
  char *end = stpcpy(path, table->roots[1]);
  if (length == 0) return true;
  *end++ = '/';
  memcpy(end, key, length);
  end[length] = '\0';
  return true;
}

bool is_in_tree(const struct table *table, const char *key, size_t length) {
  char path[PATH_MAX];
  struct stat stat;
  return tree_path(table, key, length, path) && real_stat(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &stat) == 0 &&
         S_ISDIR(stat.st_mode);
}

int why_nothing(const struct table *table, const char *key, size_t length, bool *is_next) {
  for (*is_next = true; length > 0; *is_next = false) {
    struct table_place place;
    while (length > 0 && key[--length] != '/') continue;
    if (is_in_tree(table, key, length)) return ENOENT;
    if (table_find(table, key, length, &place)) {
      *is_next = false;
      return ENOTDIR;
    }
  }
  *is_next = false;
  return ENOENT;
}

/* Why a path cannot go on from what it has led to, as from a directory; 0 if it can. */
static int why_not_on(const struct walk *walk) {
  const char *behind = behind_root(walk->table, walk->path);
  if (behind == NULL || *behind == '\0') return 0;
  const char *key = behind + 1;
  size_t length = walk->length - (size_t)(key - walk->path);
  struct table_place place;
  bool is_next;
  if (is_in_tree(walk->table, key, length)) return 0;
  return table_find(walk->table, key, length, &place) ? ENOTDIR
                                                      : why_nothing(walk->table, key, length, &is_next);
}

/* How a path ends that has this name behind others. */
static enum imaginary_end end_of(const char *name, size_t length, enum imaginary_end before) {
  if (length == 0) return before == END_NAME ? END_SLASH : before;
  if (length > 2 || name[0] != '.' || name[length - 1] != '.') return END_NAME;
  return length == 1 ? END_DOT : END_DOTDOT;
}

/* Goes on by a name, `.` or `..`. */
static bool go_on(struct walk *walk, const char *name, size_t length, struct imaginary *found) {
  if (found->end == END_NAME) return enter(walk, name, length);
  found->error = why_not_on(walk);
  return found->error != 0 || found->end == END_DOT || leave(walk);
}

bool imaginary_key(const struct table *table, int directory, const char *path, struct imaginary *found) {
  struct walk walk = {.table = table, .path = found->key};
  if (!begin(&walk, directory, path)) return false;
  found->error = 0;
  found->end = END_DOT;
  while (*path != '\0' && found->error == 0) {
    path += strspn(path, "/");
    size_t name = strcspn(path, "/");
    found->end = end_of(path, name, found->end);
    if (name > 0 && !go_on(&walk, path, name, found)) return false;
    path += name;
  }
  const char *behind = behind_root(table, found->key);
  if (behind == NULL) return false;
  if (*behind == '/') behind++;
  found->length = walk.length - (size_t)(behind - found->key);
  memmove(found->key, behind, found->length + 1);
  return true;
}
