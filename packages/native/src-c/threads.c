/*
 * A pool: threads that block in system calls, so that JavaScript need not.
 *
 * The problem. JavaScript gives away jobs of many files and wants to be called back once; a slow source wants
 * as many files under way as there are threads; storage may hang; and the environment may end at any instant,
 * by an abort, a close, or the termination of the worker thread that it runs in, while the kernel writes to
 * memory that belongs to it.
 *
 * The parts. The *queue* (pool.c) holds jobs with items that nobody has begun. A *thread* takes an item of
 * the first one, does it (with in-thread.c), and takes the next; with each item that it takes while there are
 * more it wakes or starts one other thread, so that a job costs its giver one wake-up only. *Posted*
 * (posted.c) are jobs that have something to tell; a threadsafe function wakes the environment once for all
 * that are posted until it comes.
 *
 * Everything is under one lock, which is taken once a file: that costs 0.1 us where a file costs 8 us or
 * more.
 *
 * Invariants.
 * - Memory of JavaScript is used only by a thread that is counted in `users` of its job, and a job is told as
 *   ended only when there are none. So JavaScript can free or reuse that memory once it was told. The end of
 *   an environment waits for the same.
 * - An item is begun only while its job is in the queue, and an abandoned job leaves the queue at once.
 * - A thread that works on an abandoned job may hang. It counts as `left` until it returns, and others may be
 *   started in its place, up to MOST_THREADS.
 * - Nothing of the environment is called once `is_gone` is set, which the environment's thread does under the
 *   lock.
 * - Jobs and pools are counted by reference, and freed with the last one; nothing waits for a thread to end.
 *   So the library must never be unloaded: it is linked with -z nodelete.
 */
#include "threads.h"
#include "in-thread.h"
#include "live-objects.h"
#include "posted.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Deep enough for a path and what the system's calls need; sanitizers need more. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK (1024 * 1024)
#else
#define STACK (128 * 1024)
#endif

static void *work(void *pool);

/* Wakes or starts one thread if there is work for it; an errno if there is none and none can be started. */
static int start_another(struct pool *pool) {
  if (pool->queue == NULL) return 0;
  if (pool->idle > 0) {
    pthread_cond_signal(&pool->work);
    return 0;
  }
  uint32_t working = pool->alive - pool->left;
  if (working >= pool->wanted || pool->alive >= MOST_THREADS) return 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  /* Some systems put thread-local data there as well, and say how large it is. */
  long least = sysconf(_SC_THREAD_STACK_MIN);
  pthread_attr_setstacksize(&attributes, STACK + (least > 0 ? (size_t)least : 0));
  /* Signals are for the threads of Node. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, work, pool);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (error != 0) return working == 0 ? error : 0;
  pool->alive++;
  pool->references++;
  live_objects++;
  return 0;
}

static struct timespec after_idle_time(const struct pool *pool) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += pool->idle_ms / 1000;
  until.tv_nsec += pool->idle_ms % 1000 * 1000000L;
  if (until.tv_nsec < 1000000000L) return until;
  return (struct timespec){until.tv_sec + 1, until.tv_nsec - 1000000000L};
}

/* Waits for something to do; false if the thread is to end. */
static bool wait_for_work(struct pool *pool) {
  bool is_late = false;
  struct timespec until = {0};
  for (;;) {
    if (pool->alive - pool->left > pool->wanted) return false;
    if (pool->queue != NULL) return true;
    if (pool->is_stopping || is_late) return false;
    if (until.tv_sec == 0) until = after_idle_time(pool);
    pool->idle++;
    is_late = pthread_cond_timedwait(&pool->work, &pool->lock, &until) == ETIMEDOUT;
    pool->idle--;
  }
}

static uint32_t begin_item(struct pool *pool, struct job *job, struct thread *self) {
  uint32_t item = job->begun++;
  if (job->begun == job->count) dequeue(pool, job);
  job->references++;
  job->workers++;
  self->is_using = job->is_direct;
  job->users += job->is_direct;
  start_another(pool);
  return item;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void end_item(struct pool *pool, struct job *job, uint32_t item, int64_t outcome,
                     struct thread *self) {
  job->workers--;
  pool->left -= job->is_abandoned;
  /* Else JavaScript may have been told that the item is over, and must not see it end in another way. */
  if (!job->is_abandoned || self->is_using || job->is_committing) {
    job->outcomes[item] = outcome;
    job->finished[job->done++] = item;
    if (job->has_progress || job->done == job->count) post(pool, job);
  }
  job->users -= self->is_using;
  job->is_committing = false;
  tell_if_unused(pool, job);
  drop_job_locked(job);
}

/*
 * A woken worker must not preempt its waker: that is the event loop's thread, which would stand still for as
 * long as a file takes. Systems without such a policy are left alone.
 */
static void yield_to_waker(void) {
#ifdef SCHED_BATCH
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
#endif
}

static void *work(void *argument) {
  struct pool *pool = argument;
  struct thread self = {.pool = pool, .kept_fd = -1};
  yield_to_waker();
  pthread_mutex_lock(&pool->lock);
  while (wait_for_work(pool)) {
    struct job *job = pool->queue;
    uint32_t item = begin_item(pool, job, &self);
    pthread_mutex_unlock(&pool->lock);
    uint64_t begun = now_ns();
    int64_t outcome = job->kind->run(job, item, &self);
    uint64_t took = now_ns() - begun;
    pthread_mutex_lock(&pool->lock);
    /*
     * Before the job can be told as ended. Else the lock is held until the next item is begun, which is one
     * of the same job.
     */
    if (self.kept_fd >= 0 && pool->queue != job) {
      pthread_mutex_unlock(&pool->lock);
      let_go(&self);
      pthread_mutex_lock(&pool->lock);
    }
    job->busy_ns += took;
    end_item(pool, job, item, outcome, &self);
  }
  pool->alive--;
  if (pool->is_stopping && pool->alive == 0) notify(pool);
  pthread_mutex_unlock(&pool->lock);
  let_go(&self);
  free(self.scratch);
  drop_pool(pool);
  live_objects--;
  return NULL;
}

/* ---- calls of the environment ---- */

int start_job(struct pool *pool, struct job *job) {
  pthread_mutex_lock(&pool->lock);
  enqueue(pool, job);
  int error = start_another(pool);
  if (error != 0) dequeue(pool, job);
  pthread_mutex_unlock(&pool->lock);
  return error;
}

static void abandon_job_locked(struct pool *pool, struct job *job) {
  if (job->is_abandoned) return;
  job->is_abandoned = true;
  dequeue(pool, job);
  pool->left += job->workers;
  tell_if_unused(pool, job);
  /* Other threads may take the place of those that are left with the job. */
  start_another(pool);
}

void abandon_job(struct pool *pool, struct job *job) {
  pthread_mutex_lock(&pool->lock);
  abandon_job_locked(pool, job);
  pthread_mutex_unlock(&pool->lock);
}

void set_threads(struct pool *pool, uint32_t wanted) {
  pthread_mutex_lock(&pool->lock);
  pool->wanted = wanted;
  pthread_cond_broadcast(&pool->work);
  start_another(pool);
  pthread_mutex_unlock(&pool->lock);
}

void stop_threads(struct pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->is_stopping = true;
  pthread_cond_broadcast(&pool->work);
  if (pool->alive == 0) notify(pool);
  pthread_mutex_unlock(&pool->lock);
}

void leave_environment(struct pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->is_gone = true;
  pool->is_stopping = true;
  for (struct job *job = pool->under_way; job != NULL; job = job->next) abandon_job_locked(pool, job);
  for (struct job *job = pool->under_way; job != NULL; job = job->next)
    while (job->users > 0) pthread_cond_wait(&pool->unused, &pool->lock);
  pthread_cond_broadcast(&pool->work);
  drop_posted(pool);
  pthread_mutex_unlock(&pool->lock);
}
