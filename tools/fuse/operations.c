#include "operations.h"
#include "counts.h"
#include "delays.h"
#include "nodes.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

double open_ms, read_ms, stat_ms, cache_seconds = 1;

static void do_init(void *data, struct fuse_conn_info *connection) {
  (void)data;
  connection->max_background = MOST_THREADS;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
  struct fuse_entry_param entry = {
      .ino = own_file_of(parent, name), .attr_timeout = cache_seconds, .entry_timeout = cache_seconds};
  if (entry.ino == 0) {
    counts[LOOKUP]++;
    wait_ms(stat_ms);
    entry.ino = node_of(parent, name);
  }
  int error = stat_node(entry.ino, &entry.attr);
  if (error == 0) {
    fuse_reply_entry(req, &entry);
    return;
  }
  forget_node(entry.ino, 1);
  fuse_reply_err(req, error);
}

static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups) {
  forget_node(ino, lookups);
  fuse_reply_none(req);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
  (void)info;
  if (!is_own(ino)) {
    counts[GETATTR]++;
    wait_ms(stat_ms);
  }
  struct stat attr;
  int error = stat_node(ino, &attr);
  if (error == 0) fuse_reply_attr(req, &attr, cache_seconds);
  else fuse_reply_err(req, error);
}

/* Direct: each read of a program comes here, and the kernel keeps no bytes. */
static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
  info->direct_io = 1;
  if (!is_own(ino)) {
    counts[OPEN]++;
    wait_ms(open_ms);
    int fd = openat(root_fd, path_of(ino), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      fuse_reply_err(req, errno);
      return;
    }
    info->fh = fd;
  }
  fuse_reply_open(req, info);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info) {
  if (is_own(ino)) {
    char text[512];
    size_t length = offset == 0 ? write_counts(text, sizeof text, ino == own_file(RESET)) : 0;
    fuse_reply_buf(req, text, length < size ? length : size);
    return;
  }
  counts[READ]++;
  wait_ms(read_ms);
  char *bytes = malloc(size);
  ssize_t got = bytes == NULL ? -1 : pread(info->fh, bytes, size, offset);
  if (got < 0) fuse_reply_err(req, errno);
  else {
    counts[BYTES] += got;
    transfer(got);
    fuse_reply_buf(req, bytes, got);
  }
  free(bytes);
}

static void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
  if (!is_own(ino)) {
    counts[RELEASE]++;
    close(info->fh);
  }
  fuse_reply_err(req, 0);
}

static void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
  int fd = openat(root_fd, path_of(ino), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  if (directory == NULL) {
    fuse_reply_err(req, errno);
    return;
  }
  info->fh = (uint64_t)directory;
  fuse_reply_open(req, info);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *info) {
  (void)ino;
  DIR *directory = (DIR *)info->fh;
  char *bytes = malloc(size);
  size_t used = 0;
  if (offset == 0) rewinddir(directory);
  else seekdir(directory, offset);
  for (struct dirent *entry; bytes != NULL && (entry = readdir(directory)) != NULL;) {
    struct stat attr = {.st_ino = entry->d_ino, .st_mode = DTTOIF(entry->d_type)};
    size_t needed =
        fuse_add_direntry(req, bytes + used, size - used, entry->d_name, &attr, telldir(directory));
    /* It comes again: the next call begins behind what was added last. */
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(req, bytes, used);
  free(bytes);
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
  (void)ino;
  closedir((DIR *)info->fh);
  fuse_reply_err(req, 0);
}

const struct fuse_lowlevel_ops operations = {
    .init = do_init,
    .lookup = do_lookup,
    .forget = do_forget,
    .getattr = do_getattr,
    .open = do_open,
    .read = do_read,
    .release = do_release,
    .opendir = do_opendir,
    .readdir = do_readdir,
    .releasedir = do_releasedir,
};
