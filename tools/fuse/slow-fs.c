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
#include "delays.h"
#include "nodes.h"
#include "operations.h"
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
