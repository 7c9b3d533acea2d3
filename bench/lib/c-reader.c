/*
 * Reads files as fast as a plain C program does: so many threads, each of which opens the next file, preads
 * it into the next slot of its own memory, and closes it.
 *
 * usage: c-reader THREADS BYTES SLOTS LIST < a line for each round. LIST has a path a line.
 * Answers each with a line when it has been done: the bytes that were read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **paths;
static int count, slots;
static size_t bytes;
static atomic_int next;
static atomic_llong total;

static char *line_of(FILE *file) {
  char *line = NULL;
  size_t room = 0;
  ssize_t length = getline(&line, &room, file);
  if (length <= 0) return NULL;
  if (line[length - 1] == '\n') line[length - 1] = 0;
  return line;
}

static void take_paths(const char *name) {
  FILE *list = fopen(name, "r");
  if (list == NULL) exit(1);
  for (char *path; (path = line_of(list)) != NULL; count++) {
    paths = realloc(paths, (count + 1) * sizeof *paths);
    paths[count] = path;
  }
  fclose(list);
}

static void *read_files(void *memory) {
  for (int i, slot = 0; (i = atomic_fetch_add(&next, 1)) < count; slot = (slot + 1) % slots) {
    char *target = (char *)memory + slot * bytes;
    size_t done = 0;
    int fd = open(paths[i], O_RDONLY);
    for (ssize_t got; done < bytes && (got = pread(fd, target + done, bytes - done, done)) > 0;) done += got;
    close(fd);
    atomic_fetch_add(&total, done);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  int threads = atoi(argv[1]);
  bytes = strtoull(argv[2], NULL, 10);
  slots = atoi(argv[3]);
  take_paths(argv[4]);
  char *memory = malloc(threads * slots * bytes);
  /* Touched once, so that the first round need not be given the pages. */
  memset(memory, 1, threads * slots * bytes);
  pthread_t running[threads];
  while (line_of(stdin) != NULL) {
    next = 0;
    total = 0;
    for (int i = 0; i < threads; i++)
      pthread_create(&running[i], NULL, read_files, memory + (size_t)i * slots * bytes);
    for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
    printf("%lld\n", total);
    fflush(stdout);
  }
}
