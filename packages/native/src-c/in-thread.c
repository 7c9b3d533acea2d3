#include "in-thread.h"
#include "posted.h"
#include <stdlib.h>
#include <unistd.h>

bool is_abandoned(struct job *job) {
  pthread_mutex_lock(&job->pool->lock);
  bool is = job->is_abandoned;
  pthread_mutex_unlock(&job->pool->lock);
  return is;
}

bool begin_use(struct job *job, struct thread *self) {
  if (self->is_using) return true;
  pthread_mutex_lock(&job->pool->lock);
  self->is_using = !job->is_abandoned;
  job->users += self->is_using;
  pthread_mutex_unlock(&job->pool->lock);
  return self->is_using;
}

void end_use(struct job *job, struct thread *self) {
  if (job->is_direct || !self->is_using) return;
  pthread_mutex_lock(&job->pool->lock);
  self->is_using = false;
  job->users--;
  tell_if_unused(job->pool, job);
  pthread_mutex_unlock(&job->pool->lock);
}

bool begin_commit(struct job *job) {
  pthread_mutex_lock(&job->pool->lock);
  bool may = job->is_committing = !job->is_abandoned;
  pthread_mutex_unlock(&job->pool->lock);
  return may;
}

void let_go(struct thread *self) {
  /* A file that was only read from loses nothing if this fails. */
  if (self->kept_fd >= 0) close(self->kept_fd);
  self->kept_fd = -1;
  self->kept_key = NULL;
}

uint8_t *scratch_of(struct thread *self) {
  if (self->scratch == NULL) self->scratch = malloc(SCRATCH);
  return self->scratch;
}
