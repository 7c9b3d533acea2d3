/*
 * The problem: a path is redirected by its text, and means a file of the source only as long as that text
 * leads there. A mount may cover a directory or a file below the root, perhaps only for this process. A
 * symlink before the root may be turned (`current -> v2`), or the root's directory be swapped for another
 * one. To ask the file system at each open would be right, and cost what the copies are there to save: a
 * server is asked, and a program waits for it. So each is checked by the side that knows it for less:
 *
 * - Only this process knows its mounts. Its kernel lists them without asking a server, in some 10 us, which
 * is too much for each open. No event announces a mount without a system call of its own. So they are listed
 *   when the table is mapped, at the start of each program, after a fork, after calls of the program that
 *   mount something, and else four times a second (session.c). If the list has changed, the roots are
 *   checked. A root counts if it leads to the daemon's inode, and the mounts below it are those that the
 *   daemon sees, each the same part of the same device.
 * - Symlinks and directories are the same for all processes that see that file system. So the daemon checks
 *   them, four times a second, and notes the result in the table. A program only reads that word, and waits
 *   for no server, also if the source does not respond any more while its copies are read.
 *
 * So an open by a path that was changed from outside may be redirected for some 250 ms afterwards. A symlink
 * before the root that only this process sees is checked after a mount, and when a table is mapped.
 */
#include "roots.h"
#include "mounts.h"
#include "real.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* The mounts at the last look, and those that had to be below the root. */
static uint64_t mounted, expected;

static bool has_root(const struct table *table, int fd) {
  static char path[PATH_MAX];
  struct stat root;
  uint64_t below;
  dev_t device = makedev(table->root_device >> 20, table->root_device & 0xfffff);
  return real_fstat(fd, &root) == 0 && root.st_dev == device && root.st_ino == table->root_inode &&
         path_of_descriptor(fd, path, sizeof path) > 0 && mounts_below(path, &below) && below == expected;
}

static bool leads_to_root(const struct table *table, const char *path) {
  int fd = (int)real_syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_root = has_root(table, fd);
  real_close(fd);
  return is_root;
}

static bool note_roots(struct table *table) {
  uint32_t away = 0;
  expected = table_mounts(table);
  for (unsigned i = 0; i < table->root_count; i++)
    if (!leads_to_root(table, table->roots[i])) away |= 1U << i;
  __atomic_store_n(&table->away, away, __ATOMIC_RELEASE);
  return away != (1U << table->root_count) - 1;
}

bool roots_look(struct table *table) {
  if (table->root_inode == 0) return true;
  return mounts_below("", &mounted) && note_roots(table);
}

bool roots_look_again(struct table *table) {
  uint64_t now;
  if (!mounts_below("", &now)) return false;
  if (now == mounted && table_mounts(table) == expected) return true;
  uint32_t before = __atomic_load_n(&table->away, __ATOMIC_RELAXED);
  mounted = now;
  note_roots(table);
  /* Most mounts are elsewhere, and concern nobody. */
  return __atomic_load_n(&table->away, __ATOMIC_RELAXED) == before;
}
