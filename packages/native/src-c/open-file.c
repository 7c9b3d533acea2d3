#include "open-file.h"
#include "pool.h"
#include "reads.h"
#include <stdlib.h>
#include <unistd.h>

static int64_t run(struct job *job, uint32_t item, struct thread *self) {
  (void)item;
  (void)self;
  struct open_file *opening = (struct open_file *)job;
  int fd = open_inside(&job->pool->root, opening->key, READ_FLAGS);
  if (fd < 0) return meaning_of(fd);
  /* JavaScript takes it, or, if nobody waits any more, the end of the job closes it. */
  opening->fd = fd;
  return 0;
}

static uint32_t deliver(napi_env env, struct job *job, napi_value keep, uint32_t from, uint32_t to) {
  struct open_file *opening = (struct open_file *)job;
  napi_value view;
  napi_typedarray_type type;
  size_t length;
  double *result;
  if (from == to || napi_get_element(env, keep, KEPT_DESCRIPTOR, &view) != napi_ok) return to;
  if (napi_get_typedarray_info(env, view, &type, &length, (void **)&result, NULL, NULL) != napi_ok) return to;
  if (type != napi_float64_array || length < 1) return to;
  *result = (double)job->outcomes[0];
  if (job->outcomes[0] < 0) return to;
  *result = opening->fd;
  opening->fd = -1;
  return to;
}

static void destroy(struct job *job) {
  struct open_file *opening = (struct open_file *)job;
  if (opening->fd >= 0) close(opening->fd);
  free(opening->key);
  free_job(job);
}

static const struct job_kind kind = {run, deliver, destroy};

struct open_file *new_open_file(struct pool *pool, double id) {
  struct open_file *opening = (struct open_file *)new_job(sizeof(struct open_file), &kind, pool, id, 1);
  if (opening != NULL) opening->fd = -1;
  return opening;
}
