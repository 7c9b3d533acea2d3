/*
 * Does with files what a hierarchy does with objects, as a plain C program: reads them, and keeps each in
 * memory, in a file of its own, or in files of 4 MiB. Says what that costs.
 *
 * usage: floor WHAT THREADS BYTES WARM LIST DIRECTORY
 * WHAT is read, ram, files or packed; WARM and LIST have a path a line. The files of WARM come first, and do
 * not count. Prints the microseconds of processor time of the others, in user and in system mode, and those
 * that passed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT (4u << 20)

static const char *what, *directory;
static size_t bytes;
static int threads, count;
static char **paths;
static atomic_int next, made;

static void fail(const char *why) {
  perror(why);
  exit(1);
}

static int take_paths(const char *name) {
  FILE *list = fopen(name, "r");
  if (list == NULL) fail(name);
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&line, &room, list)) > 0) {
    if (line[length - 1] == '\n') line[length - 1] = 0;
    paths = realloc(paths, (count + 1) * sizeof *paths);
    paths[count++] = strdup(line);
  }
  fclose(list);
  return count;
}

static void write_file(const char *data, size_t length) {
  char temporary[4096], name[4096];
  int number = atomic_fetch_add(&made, 1);
  snprintf(temporary, sizeof temporary, "%s/tmp-%d", directory, number);
  snprintf(name, sizeof name, "%s/%d", directory, number);
  int fd = open(temporary, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (fd < 0) fail(temporary);
  for (size_t done = 0; done < length;) {
    ssize_t put = write(fd, data + done, length - done);
    if (put <= 0) fail(temporary);
    done += put;
  }
  close(fd);
  if (rename(temporary, name) != 0) fail(name);
}

static void read_file(const char *path, char *target) {
  size_t done = 0;
  int fd = open(path, O_RDONLY);
  if (fd < 0) fail(path);
  for (ssize_t got; done < bytes && (got = pread(fd, target + done, bytes - done, done)) > 0;) done += got;
  close(fd);
  if (done != bytes) fail(path);
}

static void *work(void *unused) {
  (void)unused;
  char *target = malloc(bytes), *segment = malloc(SEGMENT);
  size_t filled = 0;
  for (int i; (i = atomic_fetch_add(&next, 1)) < count;) {
    read_file(paths[i], target);
    if (strcmp(what, "ram") == 0) memcpy(malloc(bytes), target, bytes);
    if (strcmp(what, "files") == 0) write_file(target, bytes);
    if (strcmp(what, "packed") != 0) continue;
    if (filled + bytes > SEGMENT) {
      write_file(segment, filled);
      filled = 0;
    }
    memcpy(segment + filled, target, bytes);
    filled += bytes;
  }
  if (filled > 0) write_file(segment, filled);
  free(target);
  free(segment);
  return NULL;
}

static void run(int from, int until) {
  pthread_t running[threads];
  next = from;
  count = until;
  for (int i = 0; i < threads; i++) pthread_create(&running[i], NULL, work, NULL);
  for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
}

static long long us_of(struct timeval time) { return time.tv_sec * 1000000ll + time.tv_usec; }

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000ll + time.tv_nsec / 1000;
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  what = argv[1];
  threads = atoi(argv[2]);
  bytes = strtoull(argv[3], NULL, 10);
  int first = take_paths(argv[4]);
  int all = take_paths(argv[5]);
  directory = argv[6];
  run(0, first);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  long long start = now();
  run(first, all);
  long long passed = now() - start;
  getrusage(RUSAGE_SELF, &after);
  printf("%lld %lld %lld\n", us_of(after.ru_utime) - us_of(before.ru_utime),
         us_of(after.ru_stime) - us_of(before.ru_stime), passed);
}
