/*
 * A program may close a directory that it did not open, and its number may be used again. Then a copy is
 * looked for in the wrong place. It is not there, as no other file has its name, and its whole path is opened
 * as if nothing were held open. The same happens to a thread that reads an entry while it is replaced.
 */
#include "tier-directories.h"
#include "own-descriptors.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>

static struct directory {
  /* The table of the directory; NULL if none is open. */
  const struct table *table;
  int fd;
  struct identity identity;
} directories[TABLE_TIERS];

static void close_one(struct directory *directory) {
  if (__atomic_exchange_n(&directory->table, NULL, __ATOMIC_ACQ_REL) != NULL)
    own_close(directory->fd, &directory->identity);
}

void close_tiers(void) {
  for (unsigned level = 0; level < TABLE_TIERS; level++) close_one(&directories[level]);
}

void open_tiers(const struct table *table) {
  close_tiers();
  for (unsigned level = 0; level < table->tier_count; level++) {
    struct directory *directory = &directories[level];
    int fd = own_open(table->tiers[level], O_PATH | O_DIRECTORY, &directory->identity);
    if (fd < 0) continue;
    __atomic_store_n(&directory->fd, fd, __ATOMIC_RELAXED);
    __atomic_store_n(&directory->table, table, __ATOMIC_RELEASE);
  }
}

/* The directory of a tier, and the rest of a path in it. False if it is not held open. */
static bool find(const struct table *table, unsigned level, const char **path, int *directory) {
  if (level >= TABLE_TIERS) return false;
  struct directory *held = &directories[level];
  if (__atomic_load_n(&held->table, __ATOMIC_ACQUIRE) != table) return false;
  *directory = __atomic_load_n(&held->fd, __ATOMIC_RELAXED);
  *path += table->tier_lengths[level] + 1;
  return true;
}

/* Somebody has closed it. */
static void forget_if_closed(unsigned level) {
  if (errno == EBADF || errno == ENOTDIR) __atomic_store_n(&directories[level].table, NULL, __ATOMIC_RELEASE);
}

int open_in_tier(const struct table *table, unsigned level, const char *path, int flags) {
  int directory;
  if (!find(table, level, &path, &directory)) return -1;
  int error = errno;
  int fd = real_openat(directory, path, flags);
  if (fd >= 0) return fd;
  forget_if_closed(level);
  errno = error;
  return -1;
}

int stat_in_tier(const struct table *table, unsigned level, const char *path, struct stat *found) {
  int directory;
  const char *name = path;
  if (find(table, level, &name, &directory)) {
    if (real_stat(directory, name, AT_SYMLINK_NOFOLLOW, found) == 0) return 0;
    forget_if_closed(level);
  }
  return real_stat(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, found);
}
