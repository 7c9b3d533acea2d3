#include "job.h"
#include "codes.h"
#include "live-objects.h"
#include <stdlib.h>

struct job *new_job(size_t room, const struct job_kind *kind, struct pool *pool, double id, uint32_t count) {
  struct job *job = calloc(1, room);
  if (job == NULL) return NULL;
  job->outcomes = malloc(count * sizeof *job->outcomes);
  job->finished = malloc(count * sizeof *job->finished);
  if (job->outcomes == NULL || job->finished == NULL) {
    free(job->outcomes);
    free(job->finished);
    free(job);
    return NULL;
  }
  for (uint32_t i = 0; i < count; i++) job->outcomes[i] = ABORTED;
  job->kind = kind;
  job->pool = pool;
  job->id = id;
  job->count = count;
  job->references = 1;
  live_objects++;
  return job;
}

void free_job(struct job *job) {
  free(job->outcomes);
  free(job->finished);
  free(job);
  live_objects--;
}
