#include "pool.h"
#include "live-objects.h"
#include <stdlib.h>
#include <time.h>

struct pool *new_pool(const char *root, uint32_t wanted, bool may_hang, uint32_t idle_ms) {
  struct pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) return NULL;
  if (!open_root(&pool->root, root)) {
    free(pool);
    return NULL;
  }
  pool->wanted = wanted;
  pool->may_hang = may_hang;
  pool->idle_ms = idle_ms;
  pool->references = 1;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&pool->work, &monotonic);
  pthread_cond_init(&pool->unused, &monotonic);
  pthread_condattr_destroy(&monotonic);
  live_objects++;
  return pool;
}

void hold_pool(struct pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->references++;
  pthread_mutex_unlock(&pool->lock);
}

void drop_pool(struct pool *pool) {
  pthread_mutex_lock(&pool->lock);
  bool is_last = --pool->references == 0;
  pthread_mutex_unlock(&pool->lock);
  if (!is_last) return;
  close_root(&pool->root);
  pthread_cond_destroy(&pool->work);
  pthread_cond_destroy(&pool->unused);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
  live_objects--;
}

void drop_job_locked(struct job *job) {
  if (--job->references == 0) job->kind->destroy(job);
}

void drop_job(struct pool *pool, struct job *job) {
  pthread_mutex_lock(&pool->lock);
  drop_job_locked(job);
  pthread_mutex_unlock(&pool->lock);
}

void enqueue(struct pool *pool, struct job *job) {
  job->is_queued = true;
  job->queued_after = NULL;
  if (pool->queue == NULL) pool->queue = job;
  else pool->queue_end->queued_after = job;
  pool->queue_end = job;
}

void dequeue(struct pool *pool, struct job *job) {
  if (!job->is_queued) return;
  job->is_queued = false;
  struct job *before = NULL;
  for (struct job *at = pool->queue; at != job; at = at->queued_after) before = at;
  if (before == NULL) pool->queue = job->queued_after;
  else before->queued_after = job->queued_after;
  if (pool->queue_end == job) pool->queue_end = before;
}
