/*
 * Leaves messages in a ring: `post RING THREADS COUNT`. Each thread leaves so many, of slots that say which
 * thread it was and the how manieth message. Writes how many messages there was no room for.
 */
#include "../ring.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 16

static struct ring ring;
static uint64_t count;

static void *post(void *argument) {
  uint64_t thread = (uint64_t)(uintptr_t)argument;
  for (uint64_t i = 0; i < count; i++)
    ring_post(&ring, i % 2 == 0 ? RING_COPY : RING_SOURCE, 257, thread * count + i);
  return NULL;
}

int main(int argument_count, char **arguments) {
  if (argument_count != 4) return 2;
  if (!ring_open(&ring, arguments[1])) {
    printf("refused: %s\n", strerror(errno));
    return 0;
  }
  uint64_t threads = strtoull(arguments[2], NULL, 10);
  count = strtoull(arguments[3], NULL, 10);
  pthread_t all[MOST_THREADS];
  for (uint64_t i = 0; i < threads && i < MOST_THREADS; i++)
    if (pthread_create(&all[i], NULL, post, (void *)(uintptr_t)i) != 0) return 1;
  for (uint64_t i = 0; i < threads && i < MOST_THREADS; i++) pthread_join(all[i], NULL);
  const struct ring_header *header = (const struct ring_header *)(const void *)ring.base;
  printf("%" PRIu64 "\n", header->lost);
  return 0;
}
