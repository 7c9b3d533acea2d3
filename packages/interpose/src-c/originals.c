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

bool original_by_path(int fd, const struct table *table, struct original *original) {
  char path[TABLE_PATH + sizeof DELETED];
  size_t length = path_of_descriptor(fd, path, sizeof path);
  size_t behind = sizeof DELETED - 1;
  if (length > behind && strcmp(path + length - behind, DELETED) == 0) length -= behind;
  char key[TABLE_COPY];
  size_t key_length;
  uint64_t tag;
  struct table_place place;
  if (length == 0 || !key_of_copy(table, path, length, key, &key_length, &tag)) return false;
  if (!table_find(table, key, key_length, &place)) return false;
  table_source_of(table, place.slot, &original->source);
  memcpy(stpcpy(stpcpy(original->path, table->roots[0]), "/"), key, key_length);
  original->path[table->root_lengths[0] + 1 + key_length] = '\0';
  return true;
}

const struct table *table_of_copy(int fd) {
  return (marks_of(fd) & MARK_COPY) != 0 ? __atomic_load_n(&session_last, __ATOMIC_ACQUIRE) : NULL;
}

bool original_of_copy(int fd, struct original *original) {
  const struct table *table = table_of_copy(fd);
  int error = errno;
  bool is_known = table != NULL && original_by_path(fd, table, original);
  errno = error;
  return is_known;
}

bool original_of_link(const char *path, struct original *original) {
  const struct table *table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  if (table == NULL || (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/dev/", 5) != 0)) return false;
  int error = errno;
  int fd = real_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
  bool is_known = fd >= 0 && original_by_path(fd, table, original);
  if (fd >= 0) real_close(fd);
  errno = error;
  return is_known;
}
