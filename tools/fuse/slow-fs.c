/*
 * A slow file system over a fast directory: a read-only mirror by FUSE, where each open and each read waits,
 * and all reads share a bandwidth. The waits block whoever makes the call, as a network file system does, and
 * overlap.
 *
 * usage: slow-fs [--open-ms N] [--read-ms N] [--stat-ms N] [--jitter-ms N]
 *                [--bytes-per-second N] [--cache-seconds N] DIRECTORY MOUNTPOINT
 *
 * Prints "ready" when it is mounted. When its standard input ends, so also when its parent was killed, it
 * unmounts, whatever is under way, removes the mountpoint, and exits.
 *
 * Two files below MOUNTPOINT that no listing shows give what was counted as a line of JSON: .slow-fs-counts,
 * and .slow-fs-reset, from whose reading on it is counted from 0 again. Using them neither waits nor counts.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <getopt.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Calls that wait at the same time. A process of Node makes at most 1024, one for each thread of libuv. */
#define MOST_THREADS 1100

/* ---- what is counted ---- */

enum { LOOKUP, GETATTR, OPEN, READ, BYTES, RELEASE, KINDS };
static const char *const kinds[KINDS] = {"lookup", "getattr", "open", "read", "bytes", "release"};
static atomic_llong counts[KINDS];

static size_t write_counts(char *text, size_t room, int reset) {
  size_t length = 0;
  for (int i = 0; i < KINDS; i++) {
    long long count = reset ? atomic_exchange(&counts[i], 0) : atomic_load(&counts[i]);
    length += snprintf(text + length, room - length, "%s\"%s\":%lld", i == 0 ? "{" : ",", kinds[i], count);
  }
  return length + snprintf(text + length, room - length, "}\n");
}

/* ---- what takes time ---- */

static double open_ms, read_ms, stat_ms, jitter_ms, bytes_per_second, cache_seconds = 1;
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static double link_free_at;

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static void sleep_until(double seconds) {
  struct timespec until = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

/* The jitter is drawn from one seed: the same delays in every run, though not for the same calls. */
static void wait_ms(double ms) {
  if (ms <= 0) return;
  double until = now_seconds() + ms / 1000;
  if (jitter_ms > 0) {
    pthread_mutex_lock(&clock_lock);
    until += drand48() * jitter_ms / 1000;
    pthread_mutex_unlock(&clock_lock);
  }
  sleep_until(until);
}

/*
 * One link, over which bytes go one after the other: booked by absolute times, so that late wake-ups cost no
 * throughput.
 */
static void transfer(size_t bytes) {
  if (bytes_per_second <= 0 || bytes == 0) return;
  double now = now_seconds();
  pthread_mutex_lock(&clock_lock);
  link_free_at = (link_free_at > now ? link_free_at : now) + bytes / bytes_per_second;
  double until = link_free_at;
  pthread_mutex_unlock(&clock_lock);
  sleep_until(until);
}

/* ---- nodes: what the kernel knows by number, found by path ---- */

struct node {
  uint64_t lookups;
  char path[];
};
static int root_fd;
static void *nodes;
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
/* Their addresses are the numbers of the files with the counts. */
enum { COUNTS, RESET, OWN_FILES };
static const char own_files[OWN_FILES][16] = {".slow-fs-counts", ".slow-fs-reset"};

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct node *)a)->path, ((const struct node *)b)->path);
}

static fuse_ino_t own_file(int which) { return (fuse_ino_t)own_files[which]; }

static int is_own(fuse_ino_t ino) { return ino == own_file(COUNTS) || ino == own_file(RESET); }

static const char *path_of(fuse_ino_t ino) { return ino == FUSE_ROOT_ID ? "." : ((struct node *)ino)->path; }

static fuse_ino_t node_of(fuse_ino_t parent, const char *name) {
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

static void forget_node(fuse_ino_t ino, uint64_t lookups) {
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
static int stat_node(fuse_ino_t ino, struct stat *attr) {
  if (!is_own(ino)) return fstatat(root_fd, path_of(ino), attr, 0) == 0 ? 0 : errno;
  *attr = (struct stat){.st_ino = ino, .st_mode = S_IFREG | 0444, .st_nlink = 1};
  return 0;
}

/* ---- operations ---- */

static void do_init(void *data, struct fuse_conn_info *connection) {
  (void)data;
  connection->max_background = MOST_THREADS;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
  struct fuse_entry_param entry = {.attr_timeout = cache_seconds, .entry_timeout = cache_seconds};
  for (int i = 0; parent == FUSE_ROOT_ID && i < OWN_FILES; i++)
    if (strcmp(name, own_files[i]) == 0) entry.ino = own_file(i);
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

static const struct fuse_lowlevel_ops operations = {
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

/* ---- from start to end ---- */

static void take_options(int argc, char **argv) {
  static const struct option names[] = {
      {"open-ms", required_argument, NULL, 0},
      {"read-ms", required_argument, NULL, 1},
      {"stat-ms", required_argument, NULL, 2},
      {"jitter-ms", required_argument, NULL, 3},
      {"bytes-per-second", required_argument, NULL, 4},
      {"cache-seconds", required_argument, NULL, 5},
      {NULL, 0, NULL, 0},
  };
  double *const values[] = {&open_ms, &read_ms, &stat_ms, &jitter_ms, &bytes_per_second, &cache_seconds};
  for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    if (option == '?') exit(2);
    char *end;
    *values[option] = strtod(optarg, &end);
    if (*optarg == 0 || *end != 0) {
      fprintf(stderr, "%s: not a number: %s\n", argv[0], optarg);
      exit(2);
    }
  }
  if (optind + 2 != argc) {
    fprintf(stderr, "%s: takes DIRECTORY MOUNTPOINT\n", argv[0]);
    exit(2);
  }
}

static atomic_int ending;

static void *serve(void *session) {
  struct fuse_loop_config *config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, MOST_THREADS);
  fuse_loop_cfg_set_idle_threads(config, MOST_THREADS);
  fuse_session_loop_mt(session, config);
  if (!ending) _exit(1); /* Somebody else has unmounted it. */
  return NULL;
}

int main(int argc, char **argv) {
  take_options(argc, argv);
  const char *mountpoint = argv[optind + 1];
  root_fd = open(argv[optind], O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root_fd < 0) {
    perror(argv[optind]);
    return 1;
  }
  srand48(1);
  /*
   * The one way to end it, beside SIGKILL, is the end of its input: what ends the parent alone must unmount.
   */
  for (const int *one = (int[]){SIGINT, SIGTERM, SIGHUP, SIGPIPE, 0}; *one != 0; one++) signal(*one, SIG_IGN);
  char *arguments[] = {argv[0], "-oro,fsname=slow-fs,subtype=slow-fs", NULL};
  struct fuse_args args = FUSE_ARGS_INIT(2, arguments);
  struct fuse_session *session = fuse_session_new(&args, &operations, sizeof operations, NULL);
  if (session == NULL || fuse_session_mount(session, mountpoint) != 0) return 1;
  pthread_t server;
  pthread_create(&server, NULL, serve, session);
  puts("ready");
  fflush(stdout);
  for (char ignored[64]; read(STDIN_FILENO, ignored, sizeof ignored) > 0;) continue;
  ending = 1;
  fuse_session_unmount(session);
  rmdir(mountpoint);
  /* Without waiting for what is under way: the kernel fails it. */
  _exit(0);
}
