#include "imaginary-stat.h"
#include "imaginary-path.h"
#include "imaginary.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#define NANOSECONDS 1000000000
#define BLOCK 4096
/* Of what stat counts. */
#define SECTOR 512

static dev_t device_of(const struct table_source *source) {
  return makedev(source->device >> 20, source->device & 0xfffff);
}

/* The path to ask the kernel about a directory. False with errno if there is nothing. */
static bool directory_of(const struct imaginary *found, char path[PATH_MAX]) {
  bool is_there =
      found->kind == IMAGINARY_DIRECTORY && tree_path(found->table, found->key, found->length, path);
  if (!is_there) errno = found->kind == IMAGINARY_DIRECTORY ? ENAMETOOLONG : found->error;
  return is_there;
}

static void describe(const struct table_source *source, struct stat *stat) {
  memset(stat, 0, sizeof *stat);
  stat->st_dev = device_of(source);
  stat->st_ino = source->inode;
  /* It may be changing just now. */
  stat->st_mode = source->mode != 0 ? source->mode : S_IFREG | S_IRUSR;
  stat->st_nlink = 1;
  stat->st_uid = source->user;
  stat->st_gid = source->group;
  stat->st_size = (off_t)source->size;
  stat->st_blksize = BLOCK;
  stat->st_blocks = (blkcnt_t)((source->size + SECTOR - 1) / SECTOR);
  stat->st_mtim.tv_sec = source->modified / NANOSECONDS;
  stat->st_mtim.tv_nsec = source->modified % NANOSECONDS;
  stat->st_atim = stat->st_ctim = stat->st_mtim;
}

bool stat_imaginary(int directory, const char *path, struct stat *stat, int *result) {
  struct imaginary found;
  char tree[PATH_MAX];
  enum imaginary_kind kind = imaginary_look(directory, path, &found);
  if (kind == IMAGINARY_NONE) return false;
  *result = 0;
  if (kind == IMAGINARY_FILE) describe(&found.source, stat);
  else if (directory_of(&found, tree)) *result = real_stat(AT_FDCWD, tree, 0, stat);
  else *result = -1;
  return true;
}

bool statx_imaginary(int directory, const char *path, unsigned mask, struct statx *stat, int *result) {
  struct imaginary found;
  char tree[PATH_MAX];
  enum imaginary_kind kind = imaginary_look(directory, path, &found);
  if (kind == IMAGINARY_NONE) return false;
  *result = kind == IMAGINARY_FILE ? 0 : -1;
  if (kind != IMAGINARY_FILE) {
    if (directory_of(&found, tree)) *result = real_statx(AT_FDCWD, tree, 0, mask, stat);
    return true;
  }
  struct stat plain;
  describe(&found.source, &plain);
  memset(stat, 0, sizeof *stat);
  stat->stx_mask = STATX_BASIC_STATS;
  stat->stx_blksize = BLOCK;
  stat->stx_nlink = 1;
  stat->stx_uid = plain.st_uid;
  stat->stx_gid = plain.st_gid;
  stat->stx_mode = (uint16_t)plain.st_mode;
  stat->stx_ino = plain.st_ino;
  stat->stx_size = (uint64_t)plain.st_size;
  stat->stx_blocks = (uint64_t)plain.st_blocks;
  stat->stx_mtime.tv_sec = plain.st_mtim.tv_sec;
  stat->stx_mtime.tv_nsec = (uint32_t)plain.st_mtim.tv_nsec;
  stat->stx_atime = stat->stx_ctime = stat->stx_mtime;
  stat->stx_dev_major = major(plain.st_dev);
  stat->stx_dev_minor = minor(plain.st_dev);
  return true;
}
