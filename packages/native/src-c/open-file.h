/* Jobs that open a file inside the root for reading. */
#ifndef TIERED_OPEN_FILE_H
#define TIERED_OPEN_FILE_H

#include "job.h"

struct open_file {
  struct job job;
  char *key;
  /* Until JavaScript has it; -1 before and after. */
  int fd;
};

/* The caller fills in the key; NULL if there is no memory. */
struct open_file *new_open_file(struct pool *pool, double id);

/* In the array that a job keeps: room for the descriptor, or the code of a failure, as Float64Array. */
#define KEPT_DESCRIPTOR 0

#endif
