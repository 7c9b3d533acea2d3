/*
 * A job: some items of work for the threads of a pool, such as the files of a batch. Its kind does the work.
 * Threads, ends and aborts are the same for all kinds (threads.c).
 */
#ifndef TIERED_JOB_H
#define TIERED_JOB_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job;
struct pool;

/* State of a thread. */
struct thread {
  struct pool *pool;
  /* Memory of its own; made when it is first needed. */
  uint8_t *scratch;
  /* Whether it holds the memory of the job that it works on: see begin_use. */
  bool is_using;
  /* A file that the next item of the same job may be in too, and its key, which is the job's; else -1. */
  int kept_fd;
  const char *kept_key;
};

struct job_kind {
  /* In a thread: does one item, and returns its outcome, a count or one of the codes of codes.h. */
  int64_t (*run)(struct job *job, uint32_t item, struct thread *self);
  /*
   * In the environment's thread: hands over the outcomes of the items from `from` to `to`, in the order in
   * which they ended. Returns how far it came: it stops once the pool has copied enough for this turn.
   */
  uint32_t (*deliver)(napi_env env, struct job *job, napi_value keep, uint32_t from, uint32_t to);
  /* In any thread: frees the job and all that it owns. */
  void (*destroy)(struct job *job);
};

struct job {
  const struct job_kind *kind;
  struct pool *pool;
  /* The number by which JavaScript knows it. */
  double id;
  uint32_t count;
  /* Whether threads use memory of JavaScript all the time that they work on an item. */
  bool is_direct;
  /* Whether JavaScript is told of items before all are done. */
  bool has_progress;
  /* A JavaScript array that keeps alive the memory that threads use; of the environment's thread. */
  napi_ref keep;
  bool is_settled;
  uint32_t told;
  /* Whether there is something to tell in the next turn of the event loop. */
  bool has_rest;
  /* Nanoseconds of threads, without the wait in the queue, at the last call of progress_of. */
  uint64_t told_busy_ns;
  struct job *previous, *next;

  /* The rest needs the lock of the pool. */
  uint32_t begun, done;
  /* Threads that work on it, and those of them that use its memory. */
  uint32_t workers, users;
  bool is_queued, is_posted, is_abandoned;
  /* Whether a thread does something that cannot be taken back: see begin_commit. */
  bool is_committing;
  uint32_t references;
  struct job *queued_after, *posted_after;
  /* Of each item; ABORTED until it is done. And the items in the order in which they were done. */
  int64_t *outcomes;
  uint32_t *finished;
  uint64_t busy_ns;
};

/*
 * False if there is no memory. `room` is the size of the whole kind of job, which begins with a `struct job`.
 */
struct job *new_job(size_t room, const struct job_kind *kind, struct pool *pool, double id, uint32_t count);
/* Frees a job of new_job; the last thing that `destroy` does. */
void free_job(struct job *job);

#endif
