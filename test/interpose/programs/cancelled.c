/*
 * Ends threads by pthread_cancel while they open and read files. Answers each line of standard input with
 * one: `read PATH`: what two threads read, at once, as a checksum. `pending PATH`: a thread that was told to
 * end before it opens the file. `cancelled`, if that ended it. `blocked PATH`: one that waits in `open`, as
 * for a FIFO. `reading PATH`: many, one after the other, that open, read and close the file until they are
 * told to end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 200

static char path[4096];
/*
 * Of the thread that is to end: its number once it is about to open the file, and how often it has read it.
 */
static int about_to_open;
static unsigned rounds;

static void close_it(void *fd) {
  if (*(int *)fd >= 0) close(*(int *)fd);
}

static int open_it(void) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) exit(1);
  return fd;
}

/* FNV-1a of what is read. */
static void read_all(int fd, uint64_t *sum) {
  *sum = 0xcbf29ce484222325;
  uint8_t room[4096];
  for (ssize_t got; (got = read(fd, room, sizeof room)) > 0;)
    for (ssize_t i = 0; i < got; i++) *sum = (*sum ^ room[i]) * 0x100000001b3;
}

static void *read_once(void *sum) {
  int fd = -1;
  pthread_cleanup_push(close_it, &fd);
  fd = open_it();
  read_all(fd, sum);
  pthread_cleanup_pop(1);
  return sum;
}

static void *read_always(void *unused) {
  uint64_t sum;
  for (;;) {
    read_once(&sum);
    __atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
  }
  return unused;
}

static void *open_when_cancelled(void *unused) {
  pthread_cancel(pthread_self());
  open_it();
  return unused;
}

static void *open_and_wait(void *unused) {
  __atomic_store_n(&about_to_open, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
  open_it();
  return unused;
}

static pthread_t start(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) != 0) exit(1);
  return thread;
}

static bool is_cancelled(pthread_t thread) {
  void *result;
  return pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED;
}

/* Whether a thread waits for something in the kernel. */
static bool is_asleep(int thread) {
  char name[64], text[512] = "";
  snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
  FILE *file = fopen(name, "r");
  if (file == NULL || fgets(text, sizeof text, file) == NULL) exit(1);
  fclose(file);
  const char *end = strrchr(text, ')');
  return end != NULL && end[2] == 'S';
}

static bool cancel_blocked(void) {
  about_to_open = 0;
  pthread_t thread = start(open_and_wait, NULL);
  int number;
  while ((number = __atomic_load_n(&about_to_open, __ATOMIC_ACQUIRE)) == 0 || !is_asleep(number))
    sched_yield();
  pthread_cancel(thread);
  return is_cancelled(thread);
}

static bool cancel_readers(void) {
  for (unsigned i = 0; i < THREADS; i++) {
    __atomic_store_n(&rounds, 0, __ATOMIC_RELEASE);
    pthread_t thread = start(read_always, NULL);
    while (__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) <= i % 4) sched_yield();
    pthread_cancel(thread);
    if (!is_cancelled(thread)) return false;
  }
  return true;
}

int main(void) {
  char what[16];
  while (scanf("%15s %4095[^\n]", what, path) == 2) {
    if (strcmp(what, "read") == 0) {
      uint64_t sums[2];
      pthread_t threads[] = {start(read_once, &sums[0]), start(read_once, &sums[1])};
      for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
      printf("%016lx %016lx\n", (unsigned long)sums[0], (unsigned long)sums[1]);
    } else {
      bool is_done = strcmp(what, "pending") == 0   ? is_cancelled(start(open_when_cancelled, NULL))
                     : strcmp(what, "blocked") == 0 ? cancel_blocked()
                                                    : cancel_readers();
      puts(is_done ? "cancelled" : "not cancelled");
    }
    fflush(stdout);
  }
  return 0;
}
