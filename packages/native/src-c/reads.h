/* Jobs that read into memory of JavaScript: whole batches of files, and pieces of files that are open. */
#ifndef TIERED_READS_H
#define TIERED_READS_H

#include "job.h"
#include "memory.h"

/* What is read, and to where. */
struct read {
  /* In the text of the job; NULL for a file that is open. */
  const char *key;
  /* NULL for any. */
  const char *version;
  uint64_t offset;
  struct range target;
  /* Memory of our own, where that of JavaScript is not shared. */
  uint8_t *own;
};

struct reads {
  struct job job;
  /* Of a piece: the descriptor, and whether it is ours to close. */
  int fd;
  bool owns_fd;
  /* Keys and versions. */
  char *text;
  struct memory *memories;
  struct read reads[];
};

/* Without memories, text and reads, which the caller fills in; NULL if there is no memory. */
struct reads *new_file_reads(struct pool *pool, double id, uint32_t count);
struct reads *new_piece_read(struct pool *pool, double id);

/* In the array that a job keeps: the outcomes, as Float64Array, and behind them the indexes of reads in the order in which they
   ended; then the memories. */
#define KEPT_OUTCOMES 0
#define KEPT_MEMORIES 1

#endif
