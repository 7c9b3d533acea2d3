#include "root.h"
#include "codes.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers of old systems know neither; the kernel's interface does not change. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
struct how {
  uint64_t flags, mode, resolve;
};
#define NO_MAGIC_LINKS 0x02
#define BENEATH 0x08

/* The part of `struct statx` that is used. */
struct look {
  uint8_t before[32];
  uint64_t ino;
  uint8_t between[96];
  uint32_t dev_major, dev_minor;
  uint8_t after[112];
};
#define ONLY_INO 0x100
/* The kernel answers without a request to a server. */
#define DONT_SYNC 0x4000

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

static int open_beneath(const struct root *root, const char *key, int flags) {
  struct how how = {.flags = (uint64_t)(unsigned)flags, .resolve = BENEATH | NO_MAGIC_LINKS};
  int fd;
  do fd = (int)syscall(SYS_openat2, root->fd, key, &how, sizeof how);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

bool open_root(struct root *root, const char *path) {
  root->fd = open(path, DIRECTORY_FLAGS);
  if (root->fd < 0) return false;
  root->path = strdup(path);
  if (root->path == NULL) {
    close(root->fd);
    return false;
  }
  /* Old kernels say ENOSYS, sandboxes EPERM. */
  int probe = open_beneath(root, ".", DIRECTORY_FLAGS);
  root->has_openat2 = probe >= 0;
  if (probe >= 0) close(probe);
  return true;
}

void close_root(struct root *root) {
  close(root->fd);
  free(root->path);
}

bool is_key(const char *key) {
  if (*key == '\0' || *key == '/') return false;
  for (const char *part = key; part != NULL; part = strchr(part, '/')) {
    if (*part == '/') part++;
    if (part[0] == '.' && part[1] == '.' && (part[2] == '\0' || part[2] == '/')) return false;
  }
  return true;
}

static bool is_below(const char *root, const char *path) {
  size_t length = strlen(root);
  if (strncmp(path, root, length) != 0) return false;
  return path[length] == '\0' || path[length] == '/' || (length > 0 && root[length - 1] == '/');
}

/* Opens first, and then asks the kernel for the path, so that nobody can put a link in between. */
static int open_and_ask(const struct root *root, const char *key, int flags) {
  char path[PATH_MAX], link[sizeof "/proc/self/fd/" + 11];
  int length = snprintf(path, sizeof path, "%s/%s", root->path, key);
  if (length < 0 || (size_t)length >= sizeof path) return -ENAMETOOLONG;
  int fd;
  do fd = open(path, flags);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return -errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t count = readlink(link, path, sizeof path - 1);
  /* Without procfs nothing shows that it is inside. */
  if (count >= 0) path[count] = '\0';
  if (count >= 0 && is_below(root->path, path)) return fd;
  close(fd);
  return OUTSIDE;
}

static int look_at(int fd, const char *path, struct look *found) {
  return (int)syscall(SYS_statx, fd, path, AT_EMPTY_PATH | DONT_SYNC, ONLY_INO, found);
}

/* For sandboxes that know no statx. */
static int leads_elsewhere_by_stat(const struct root *root) {
  struct stat held, now;
  if (fstat(root->fd, &held) < 0) return 0;
  if (stat(root->path, &now) < 0) return -errno;
  return held.st_ino != now.st_ino || held.st_dev != now.st_dev;
}

/*
 * Whether the path leads to another directory than the descriptor, or, a negative errno, nowhere: the
 * directory may have been renamed, removed and made again, or mounted over. Reads are by the path, as those
 * of any other program.
 */
static int leads_elsewhere(const struct root *root) {
  struct look held, now;
  if (look_at(root->fd, "", &held) < 0)
    return errno == ENOSYS || errno == EPERM ? leads_elsewhere_by_stat(root) : 0;
  if (look_at(AT_FDCWD, root->path, &now) < 0) return -errno;
  return held.ino != now.ino || held.dev_major != now.dev_major || held.dev_minor != now.dev_minor;
}

/* 0, or a negative errno. */
static int reopen(struct root *root) {
  int fd = open(root->path, DIRECTORY_FLAGS);
  if (fd < 0) return -errno;
  /* In one step: other threads use the number meanwhile. */
  int outcome = dup3(fd, root->fd, O_CLOEXEC) < 0 ? -errno : 0;
  close(fd);
  return outcome;
}

int open_inside(struct root *root, const char *key, int flags) {
  if (!is_key(key)) return INVALID_KEY;
  if (!root->has_openat2) return open_and_ask(root, key, flags);
  int elsewhere = leads_elsewhere(root);
  if (elsewhere > 0) elsewhere = reopen(root);
  if (elsewhere < 0) return elsewhere;
  int fd = open_beneath(root, key, flags);
  /* The kernel refuses absolute links, wherever they lead, and sometimes paths that are renamed meanwhile. */
  if (fd == -EXDEV || fd == -EAGAIN) return open_and_ask(root, key, flags);
  return fd;
}

int open_directory_of(struct root *root, const char *key, int flags, const char **name) {
  if (!is_key(key)) return INVALID_KEY;
  const char *slash = strrchr(key, '/');
  *name = slash == NULL ? key : slash + 1;
  if (**name == '\0' || strcmp(*name, ".") == 0) return INVALID_KEY;
  char directory[PATH_MAX] = ".";
  size_t length = slash == NULL ? 1 : (size_t)(slash - key);
  if (length >= sizeof directory) return -ENAMETOOLONG;
  if (slash != NULL) {
    memcpy(directory, key, length);
    directory[length] = '\0';
  }
  return open_inside(root, directory, flags | O_DIRECTORY);
}
