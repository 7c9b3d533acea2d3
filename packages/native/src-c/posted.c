#include "posted.h"

void notify(struct pool *pool) {
  if (pool->is_notified || pool->is_gone) return;
  pool->is_notified = true;
  napi_call_threadsafe_function(pool->wake_javascript, NULL, napi_tsfn_nonblocking);
}

void post(struct pool *pool, struct job *job) {
  if (job->is_posted || pool->is_gone) return;
  job->is_posted = true;
  job->references++;
  job->posted_after = NULL;
  if (pool->posted == NULL) pool->posted = job;
  else pool->posted_end->posted_after = job;
  pool->posted_end = job;
  notify(pool);
}

struct job *take_posted(struct pool *pool, bool *has_ended) {
  pthread_mutex_lock(&pool->lock);
  struct job *posted = pool->posted;
  pool->posted = NULL;
  pool->is_notified = false;
  *has_ended = pool->is_stopping && pool->alive == 0;
  pthread_mutex_unlock(&pool->lock);
  return posted;
}

/* Whether a job was abandoned, and no thread uses its memory or commits. */
static bool is_unused(const struct job *job) {
  return job->is_abandoned && job->users == 0 && !job->is_committing;
}

uint32_t progress_of(struct pool *pool, struct job *job, bool was_taken, bool *is_over) {
  pthread_mutex_lock(&pool->lock);
  /* From here on it may be posted again. One that was not taken may be among those that are posted. */
  if (was_taken) job->is_posted = false;
  *is_over = job->done == job->count || is_unused(job);
  uint32_t done = job->done;
  job->told_busy_ns = job->busy_ns;
  pthread_mutex_unlock(&pool->lock);
  return done;
}

void tell_if_unused(struct pool *pool, struct job *job) {
  if (!is_unused(job)) return;
  post(pool, job);
  pthread_cond_broadcast(&pool->unused);
}

void drop_posted(struct pool *pool) {
  while (pool->posted != NULL) {
    struct job *job = pool->posted;
    pool->posted = job->posted_after;
    drop_job_locked(job);
  }
}
