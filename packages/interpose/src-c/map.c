#include "map.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Nobody else may have written it. */
static bool is_ours(const struct stat *stat) {
  if (!S_ISREG(stat->st_mode) || (stat->st_mode & (S_IWGRP | S_IWOTH)) != 0) return false;
  return stat->st_uid == geteuid() || stat->st_uid == 0;
}

uint8_t *map_private_file(const char *path, size_t least, int protection, size_t *length) {
  int flags = (protection & PROT_WRITE) != 0 ? O_RDWR : O_RDONLY;
  int fd = real_open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
  if (fd < 0) return NULL;
  struct stat stat;
  int error = 0;
  void *base = MAP_FAILED;
  if (real_fstat(fd, &stat) < 0) error = errno;
  else if (!is_ours(&stat)) error = EACCES;
  else if ((uint64_t)stat.st_size < least) error = EINVAL;
  else base = mmap(NULL, *length = (size_t)stat.st_size, protection, MAP_SHARED, fd, 0);
  if (error == 0 && base == MAP_FAILED) error = errno;
  real_close(fd);
  errno = error;
  return error == 0 ? base : NULL;
}
