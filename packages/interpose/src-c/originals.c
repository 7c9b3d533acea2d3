#include "originals.h"
#include "copy-path.h"
#include "descriptors.h"
#include "real.h"
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What the kernel puts behind the path of a file that was deleted. */
#define DELETED " (deleted)"

/* As path_of_descriptor, and the path that a file had which was deleted. */
static size_t path_at_open(int fd, char *path, size_t size) {
  size_t length = path_of_descriptor(fd, path, size);
  size_t behind = sizeof DELETED - 1;
  return length > behind && strcmp(path + length - behind, DELETED) == 0 ? length - behind : length;
}

bool original_by_path(int fd, const struct table *table, struct original *original) {
  char path[TABLE_PATH + sizeof DELETED];
  size_t length = path_at_open(fd, path, sizeof path);
  char key[TABLE_COPY];
  size_t key_length;
  uint64_t tag;
  struct table_place place;
  if (length == 0 || !key_of_copy(table, path, length, key, &key_length, &tag)) return false;
  if (!table_find(table, key, key_length, &place)) return false;
  table_source_of(table, place.slot, &original->source);
  unsigned root = 0;
  while (root + 1 < table->root_count && table_root_is_away(table, root)) root++;
  memcpy(stpcpy(stpcpy(original->path, table->roots[root]), "/"), key, key_length);
  original->path[table->root_lengths[root] + 1 + key_length] = '\0';
  return true;
}

const struct table *table_of_copy(int fd) {
  return may_be_copy(fd) ? __atomic_load_n(&session_last, __ATOMIC_ACQUIRE) : NULL;
}

static bool has_copy_open(int fd, const struct table *table) {
  char path[TABLE_PATH + sizeof DELETED];
  return is_copy_path(table, path, path_at_open(fd, path, sizeof path));
}

/* Where to write in place of an open file. */
static const char *written(int fd, const struct table *table, const char *path, struct original *original) {
  if (!has_copy_open(fd, table)) return path;
  if (!table->is_imaginary && original_by_path(fd, table, original)) return original->path;
  errno = EROFS;
  return NULL;
}

/*
 * Whether a path may be one of the kernel's names for what is open: /dev/fd/3, /proc/7/fd/3, or /dev/stdin.
 * Any directory may lead there.
 */
static bool may_be_descriptor(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  return name[strspn(name, "0123456789")] == '\0' || strncmp(name, "std", 3) == 0;
}

const char *path_to_write(int directory, const char *path, int nofollow, struct original *original) {
  const struct table *table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  if (table == NULL || path == NULL || !may_be_descriptor(path)) return path;
  int error = errno;
  int fd = real_openat(directory, path, O_PATH | O_CLOEXEC | nofollow);
  const char *to = path;
  if (fd >= 0) {
    to = written(fd, table, path, original);
    real_close(fd);
  } else if (errno == EMFILE || errno == ENFILE) {
    to = NULL;
  }
  if (to != NULL) errno = error;
  return to;
}
