#include "originals.h"
#include "copy-path.h"
#include "descriptors.h"
#include "own-descriptors.h"
#include "real.h"
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

/* The kernel's mark behind the path of a deleted file. */
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
  original->slot = place.slot;
  table_source_of(table, place.slot, &original->source);
  unsigned root = 0;
  while (root + 1 < table->root_count && table_root_is_away(table, root)) root++;
  memcpy(stpcpy(stpcpy(original->path, table->roots[root]), "/"), key, key_length);
  original->path[table->root_lengths[root] + 1 + key_length] = '\0';
  return true;
}

/* As long as the daemon has told nothing but the size, that has to do. */
static bool is_as_copied(int fd, const struct table_source *source) {
  struct identity found;
  uint32_t device;
  if (!identify(fd, &found) || found.size != source->size) return false;
  device = (found.major & 0xfff) << 20 | (found.minor & 0xfffff);
  return source->mode == 0 ||
         (found.inode == source->inode && device == source->device && found.modified == source->modified);
}

int open_original(int fd, const struct table *table, struct original *original) {
  long status = real_syscall(SYS_fcntl, fd, F_GETFL);
  long flags = real_syscall(SYS_fcntl, fd, F_GETFD);
  if (status < 0 || flags < 0 || !original_by_path(fd, table, original)) return -1;
  int same = ((flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) | (int)(status & O_NONBLOCK);
  int file = (int)real_syscall(SYS_openat, AT_FDCWD, original->path, O_RDONLY | same);
  if (file < 0 || is_as_copied(file, &original->source)) return file;
  real_close(file);
  return -1;
}

const struct table *table_of_copy(int fd) {
  return may_be_copy(fd) ? __atomic_load_n(&session_last, __ATOMIC_ACQUIRE) : NULL;
}

static bool has_copy_open(int fd, const struct table *table) {
  char path[TABLE_PATH + sizeof DELETED];
  return is_copy_path(table, path, path_at_open(fd, path, sizeof path));
}

/* The path to write to, in place of an open file. */
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
