#include "nodes.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int root_fd;

struct node {
  uint64_t lookups;
  char path[];
};
static void *nodes;
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
/* Their addresses are the numbers of the files with the counts. */
static const char own_files[OWN_FILES][16] = {".slow-fs-counts", ".slow-fs-reset"};

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct node *)a)->path, ((const struct node *)b)->path);
}

fuse_ino_t own_file(int which) { return (fuse_ino_t)own_files[which]; }

int is_own(fuse_ino_t ino) { return ino == own_file(COUNTS) || ino == own_file(RESET); }

fuse_ino_t own_file_of(fuse_ino_t parent, const char *name) {
  for (int i = 0; parent == FUSE_ROOT_ID && i < OWN_FILES; i++)
    if (strcmp(name, own_files[i]) == 0) return own_file(i);
  return 0;
}

const char *path_of(fuse_ino_t ino) { return ino == FUSE_ROOT_ID ? "." : ((struct node *)ino)->path; }

fuse_ino_t node_of(fuse_ino_t parent, const char *name) {
  const char *directory = path_of(parent);
  struct node *fresh = calloc(1, sizeof *fresh + strlen(directory) + strlen(name) + 2);
  sprintf(fresh->path, "%s/%s", directory, name);
  pthread_mutex_lock(&nodes_lock);
  struct node *found = *(struct node **)tsearch(fresh, &nodes, by_path);
  found->lookups++;
  pthread_mutex_unlock(&nodes_lock);
  if (found != fresh) free(fresh);
  return (fuse_ino_t)found;
}

void forget_node(fuse_ino_t ino, uint64_t lookups) {
  if (ino == FUSE_ROOT_ID || is_own(ino)) return;
  struct node *node = (struct node *)ino;
  pthread_mutex_lock(&nodes_lock);
  node->lookups -= lookups;
  int gone = node->lookups == 0;
  if (gone) tdelete(node, &nodes, by_path);
  pthread_mutex_unlock(&nodes_lock);
  if (gone) free(node);
}

/* Links are followed: what is behind them looks as if it were there. */
int stat_node(fuse_ino_t ino, struct stat *attr) {
  if (!is_own(ino)) return fstatat(root_fd, path_of(ino), attr, 0) == 0 ? 0 : errno;
  *attr = (struct stat){.st_ino = ino, .st_mode = S_IFREG | 0444, .st_nlink = 1};
  return 0;
}
