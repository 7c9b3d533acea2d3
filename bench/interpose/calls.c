/*
 * Makes calls of one kind, as many as it is told: `calls KIND COUNT LIST`. It does so once for each line that
 * it is sent, and answers with their number. KIND is `open`, for open and close of one file of the list after
 * another, or `pread`, for reads of 4 KiB of files that stay open.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_FILES 256

static char *files[MOST_FILES];
static int descriptors[MOST_FILES];
static size_t file_count;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void read_list(const char *list) {
  FILE *stream = fopen(list, "r");
  if (stream == NULL) fail(list);
  size_t size = 0;
  while (file_count < MOST_FILES && getline(&files[file_count], &size, stream) > 0) {
    files[file_count][strcspn(files[file_count], "\n")] = '\0';
    file_count++;
    size = 0;
  }
  fclose(stream);
  if (file_count == 0) fail("no files");
}

static void open_one(unsigned long i) {
  int fd = open(files[i % file_count], O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(files[i % file_count]);
  close(fd);
}

static void read_one(unsigned long i) {
  char bytes[4096];
  int *fd = &descriptors[i % file_count];
  if (*fd == 0) *fd = open(files[i % file_count], O_RDONLY | O_CLOEXEC);
  if (pread(*fd, bytes, sizeof bytes, 0) < 0) fail("pread");
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  void (*call)(unsigned long) = strcmp(arguments[1], "open") == 0 ? open_one : read_one;
  unsigned long calls = strtoul(arguments[2], NULL, 10);
  read_list(arguments[3]);
  while (getchar() == '\n') {
    for (unsigned long i = 0; i < calls; i++) call(i);
    printf("%lu\n", calls);
    fflush(stdout);
  }
  return 0;
}
