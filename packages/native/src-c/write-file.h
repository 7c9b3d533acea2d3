/* Jobs that write a file: so that a reader sees the old one, none, or the whole new one. */
#ifndef TIERED_WRITE_FILE_H
#define TIERED_WRITE_FILE_H

#include "job.h"
#include "memory.h"
#include <sys/types.h>

/* Steps of a write; src/outcomes.ts has the same order. */
enum step { OPEN_DIRECTORY, CREATE, WRITE, SYNC, CLOSE, PUBLISH, SYNC_DIRECTORY };

struct write_file {
  struct job job;
  /* Two keys. */
  char *text;
  const char *temporary, *target;
  mode_t mode;
  bool syncs, if_absent;
  /* Bytes for each sum; 0 for none. */
  uint64_t sum_every, sums_count;
  uint64_t *sums;
  /* Those that are not fixed are copies of our own. */
  struct memory *parts;
  uint32_t parts_count;
  enum step step;
};

/* The caller fills in the rest; NULL if there is no memory. */
struct write_file *new_write_file(struct pool *pool, double id);

/*
 * In the array that a job keeps: a Float64Array of the outcome and the step, a BigUint64Array of the sums;
 * then the memories.
 */
#define KEPT_RESULT 0
#define KEPT_SUMS 1
#define KEPT_PARTS 2

#endif
