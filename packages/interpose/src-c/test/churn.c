/*
 * Reads files again and again while others place and evict their copies: `churn SECONDS FILE...`. Each file
 * has to hold one line, its own name, again and again. Writes how many files were read, and ends at the first
 * wrong byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define MOST_BYTES 65536

static char **files;
static unsigned file_count;
static double until;
static unsigned long done;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what, const char *file) {
  fprintf(stderr, "%s: %s: %s\n", file, what, strerror(errno));
  _exit(1);
}

static void compare(const char *file, const char *bytes, size_t length, off_t size) {
  const char *name = strrchr(file, '/') + 1;
  size_t line = strlen(name) + 1;
  if (length == 0 || (off_t)length != size || length % line != 0) fail("a wrong length", file);
  for (size_t at = 0; at < length; at += line)
    if (memcmp(bytes + at, name, line - 1) != 0 || bytes[at + line - 1] != '\n') fail("wrong bytes", file);
}

static off_t size_of(int fd, const char *file) {
  struct stat opened, named;
  if (fstat(fd, &opened) < 0 || stat(file, &named) < 0) fail("stat", file);
  if (opened.st_ino != named.st_ino || opened.st_dev != named.st_dev) fail("another file", file);
  return opened.st_size;
}

static void read_file(const char *file, unsigned how) {
  char bytes[MOST_BYTES];
  if (how == 0) {
    FILE *stream = fopen(file, "r");
    if (stream == NULL) fail("fopen", file);
    off_t size = size_of(fileno(stream), file);
    compare(file, bytes, fread(bytes, 1, sizeof bytes, stream), size);
    fclose(stream);
    return;
  }
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open", file);
  off_t size = size_of(fd, file);
  if (how == 1) {
    void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) fail("mmap", file);
    compare(file, map, (size_t)size, size);
    munmap(map, (size_t)size);
  } else {
    ssize_t count = how == 2 ? pread(fd, bytes, sizeof bytes, 0) : read(fd, bytes, sizeof bytes);
    if (count < 0) fail("read", file);
    compare(file, bytes, (size_t)count, size);
  }
  close(fd);
}

/* A file that a thread keeps open for a while, as its copies come and go. */
struct held {
  const char *file;
  int fd;
  unsigned uses;
};

static void read_held(struct held *held, const char *file) {
  if (held->uses == 0) {
    *held = (struct held){file, open(file, O_RDONLY | O_CLOEXEC), 100};
    if (held->fd < 0) fail("open", file);
  }
  char bytes[MOST_BYTES];
  ssize_t count = pread(held->fd, bytes, sizeof bytes, 0);
  if (count < 0) fail("pread", held->file);
  compare(held->file, bytes, (size_t)count, size_of(held->fd, held->file));
  if (--held->uses == 0) close(held->fd);
}

static void *churn(void *argument) {
  struct held held[8] = {0};
  uint64_t state = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15 + 1;
  while (now() < until) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    unsigned choice = (unsigned)(state >> 33);
    read_file(files[choice % file_count], choice / file_count % 4);
    read_held(&held[choice / file_count % 8], files[choice % file_count]);
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    if (choice % 512 == 0) {
      pid_t child = fork();
      if (child == 0) {
        read_file(files[choice % file_count], 3);
        _exit(0);
      }
      int status;
      if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        fail("a child", files[choice % file_count]);
    }
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  until = now() + atof(arguments[1]);
  files = arguments + 2;
  file_count = (unsigned)(count - 2);
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1)) != 0) return 1;
  for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("%lu\n", done);
  return 0;
}
