/*
 * Metadata of open files. For a copy it is that of the source's file, as if the program had opened that:
 * programs such as cp compare it with the metadata of the path, and programs such as tar keep it.
 *
 * A copy is recognised by its note at the open (known-copies.c), else by its path, which has key and tag,
 * also after the copy was deleted.
 */
#include "imaginary-stat.h"
#include "imaginary.h"
#include "known-copies.h"
#include "originals.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#define EXPORT __attribute__((visibility("default")))
#define NANOSECONDS 1000000000

/* Whether a descriptor is one of a copy of so many bytes. Finds out what is known of its source. */
static bool original_of(int fd, uint64_t size, const struct file_identity *identity,
                        struct original *original) {
  const struct table *table = table_of_copy(fd);
  if (table == NULL) return false;
  bool is_known = copy_source(fd, identity, table, &original->source) && original->source.mode != 0;
  if (!is_known && !original_by_path(fd, table, original)) return false;
  /* Else it is a copy of an older version. */
  return original->source.size == size;
}

static dev_t device_of(const struct table_source *source) {
  return makedev(source->device >> 20, source->device & 0xfffff);
}

static int64_t seconds_of(int64_t time) { return time / NANOSECONDS - (time % NANOSECONDS < 0); }

/*
 * Metadata that is not in the table must not change while the file is open: programs such as tar rely on it.
 * The copy's own would change at its eviction.
 */
static void steady(struct stat *stat) {
  stat->st_nlink = 1;
  stat->st_atim = stat->st_ctim = stat->st_mtim;
}

static void steady_x(struct statx *stat) {
  stat->stx_nlink = 1;
  stat->stx_atime = stat->stx_ctime = stat->stx_btime = stat->stx_mtime;
}

static int64_t rest_of(int64_t time) { return (time % NANOSECONDS + NANOSECONDS) % NANOSECONDS; }

/* Makes the answer about a copy one about the source's file, if that is known. */
static void tell_original(int fd, struct stat *stat) {
  int error = errno;
  struct original original;
  struct file_identity identity = identity_of(stat);
  if (S_ISREG(stat->st_mode) && original_of(fd, (uint64_t)stat->st_size, &identity, &original)) {
    const struct table_source *source = &original.source;
    struct stat asked;
    if (source->mode != 0) {
      stat->st_dev = device_of(source);
      stat->st_ino = source->inode;
      stat->st_mode = source->mode;
      stat->st_uid = source->user;
      stat->st_gid = source->group;
      stat->st_mtim.tv_sec = seconds_of(source->modified);
      stat->st_mtim.tv_nsec = rest_of(source->modified);
      steady(stat);
    } else if (real_stat(AT_FDCWD, original.path, 0, &asked) == 0 &&
               (uint64_t)asked.st_size == source->size) {
      *stat = asked;
      if (stat->st_nlink == 1) steady(stat);
    }
  }
  errno = error;
}

static void tell_original_x(int fd, unsigned mask, struct statx *stat) {
  int error = errno;
  struct original original;
  /* If a part of it was not asked for, it is that of no file. */
  struct file_identity identity = {stat->stx_ino, makedev(stat->stx_dev_major, stat->stx_dev_minor),
                                   stat->stx_ctime.tv_sec, stat->stx_ctime.tv_nsec};
  if (S_ISREG(stat->stx_mode) && original_of(fd, stat->stx_size, &identity, &original)) {
    const struct table_source *source = &original.source;
    struct statx asked;
    if (source->mode != 0) {
      stat->stx_dev_major = major(device_of(source));
      stat->stx_dev_minor = minor(device_of(source));
      stat->stx_ino = source->inode;
      stat->stx_mode = (uint16_t)source->mode;
      stat->stx_uid = source->user;
      stat->stx_gid = source->group;
      stat->stx_mtime.tv_sec = seconds_of(source->modified);
      stat->stx_mtime.tv_nsec = (uint32_t)rest_of(source->modified);
      steady_x(stat);
    } else if (real_statx(AT_FDCWD, original.path, 0, mask | STATX_SIZE, &asked) == 0 &&
               asked.stx_size == source->size) {
      *stat = asked;
      if (stat->stx_nlink == 1) steady_x(stat);
    }
  }
  errno = error;
}

/* New kernels take no path for an empty one. */
static bool is_descriptor(const char *path, int flags) {
  return (flags & AT_EMPTY_PATH) != 0 && (path == NULL || path[0] == '\0');
}

static int fstat_any(int fd, struct stat *stat) {
  int result = real_fstat(fd, stat);
  if (result == 0) tell_original(fd, stat);
  return result;
}

static int fstatat_any(int directory, const char *path, struct stat *stat, int flags) {
  int imaginary;
  if (imaginary_may_be(path) && stat_imaginary(directory, path, stat, &imaginary)) return imaginary;
  int result = real_stat(directory, path, flags, stat);
  if (result == 0 && is_descriptor(path, flags)) tell_original(directory, stat);
  return result;
}

EXPORT int fstat(int fd, struct stat *stat) { return fstat_any(fd, stat); }

EXPORT int stat(const char *path, struct stat *stat) { return fstatat_any(AT_FDCWD, path, stat, 0); }

EXPORT int stat64(const char *path, struct stat64 *stat) {
  return fstatat_any(AT_FDCWD, path, (struct stat *)stat, 0);
}

EXPORT int lstat(const char *path, struct stat *stat) {
  return fstatat_any(AT_FDCWD, path, stat, AT_SYMLINK_NOFOLLOW);
}

EXPORT int lstat64(const char *path, struct stat64 *stat) {
  return fstatat_any(AT_FDCWD, path, (struct stat *)stat, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fstat64(int fd, struct stat64 *stat) { return fstat_any(fd, (struct stat *)stat); }

EXPORT int fstatat(int directory, const char *path, struct stat *stat, int flags) {
  return fstatat_any(directory, path, stat, flags);
}

EXPORT int fstatat64(int directory, const char *path, struct stat64 *stat, int flags) {
  return fstatat_any(directory, path, (struct stat *)stat, flags);
}

EXPORT int statx(int directory, const char *path, int flags, unsigned mask, struct statx *stat) {
  int imaginary;
  if (imaginary_may_be(path) && statx_imaginary(directory, path, mask, stat, &imaginary)) return imaginary;
  int result = real_statx(directory, path, flags, mask, stat);
  unsigned needed = STATX_TYPE | STATX_SIZE;
  if (result == 0 && is_descriptor(path, flags) && (stat->stx_mask & needed) == needed)
    tell_original_x(directory, mask, stat);
  return result;
}

/*
 * For programs that were linked before version 2.33 of the library. `version` says which layout they
 * know: there is one.
 */
int __fxstat(int version, int fd, struct stat *stat);
int __fxstat64(int version, int fd, struct stat64 *stat);
int __xstat(int version, const char *path, struct stat *stat);
int __xstat64(int version, const char *path, struct stat64 *stat);
int __lxstat(int version, const char *path, struct stat *stat);
int __lxstat64(int version, const char *path, struct stat64 *stat);
int __fxstatat(int version, int directory, const char *path, struct stat *stat, int flags);
int __fxstatat64(int version, int directory, const char *path, struct stat64 *stat, int flags);

EXPORT int __fxstat(int version, int fd, struct stat *stat) {
  (void)version;
  return fstat_any(fd, stat);
}

EXPORT int __fxstat64(int version, int fd, struct stat64 *stat) {
  (void)version;
  return fstat_any(fd, (struct stat *)stat);
}

EXPORT int __xstat(int version, const char *path, struct stat *stat) {
  (void)version;
  return fstatat_any(AT_FDCWD, path, stat, 0);
}

EXPORT int __xstat64(int version, const char *path, struct stat64 *stat) {
  (void)version;
  return fstatat_any(AT_FDCWD, path, (struct stat *)stat, 0);
}

EXPORT int __lxstat(int version, const char *path, struct stat *stat) {
  (void)version;
  return fstatat_any(AT_FDCWD, path, stat, AT_SYMLINK_NOFOLLOW);
}

EXPORT int __lxstat64(int version, const char *path, struct stat64 *stat) {
  (void)version;
  return fstatat_any(AT_FDCWD, path, (struct stat *)stat, AT_SYMLINK_NOFOLLOW);
}

EXPORT int __fxstatat(int version, int directory, const char *path, struct stat *stat, int flags) {
  (void)version;
  return fstatat_any(directory, path, stat, flags);
}

EXPORT int __fxstatat64(int version, int directory, const char *path, struct stat64 *stat, int flags) {
  (void)version;
  return fstatat_any(directory, path, (struct stat *)stat, flags);
}
