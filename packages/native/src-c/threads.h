/* A pool of threads and its queue; threads.c opens with how they work together. */
#ifndef TIERED_THREADS_H
#define TIERED_THREADS_H

#include "job.h"
#include "root.h"
#include <pthread.h>
#include <stdatomic.h>

/* Threads that a pool may ever have, those that hang included. */
#define MOST_THREADS 256
/* Items that wait or are worked on. */
#define MOST_ITEMS 65536
/* Small enough to stay in the processor's cache between a read and the copy. */
#define SCRATCH (256 * 1024)

struct pool {
  struct root root;
  bool may_hang;
  uint32_t idle_ms;
  /* Of the environment's thread. */
  uint32_t id;
  napi_env env;
  napi_threadsafe_function wake_javascript;
  napi_ref deliver;
  struct job *under_way;
  uint32_t under_way_count;
  /* Items of jobs under way. */
  uint32_t items;
  bool is_stopping_told;

  pthread_mutex_t lock;
  /* Work, or an end, for idle threads. */
  pthread_cond_t work;
  /* No thread uses memory of an abandoned job any more. */
  pthread_cond_t unused;
  /*
   * Threads that there are to be; that there are; that wait for work; and that may hang with a job that was
   * abandoned.
   */
  uint32_t wanted, alive, idle, left;
  bool is_stopping;
  /* Whether the environment cannot be called any more. */
  bool is_gone;
  bool is_notified;
  uint32_t references;
  struct job *queue, *queue_end;
  struct job *posted, *posted_end;
};

/* Jobs, pools, threads and mappings that exist, in the whole process: 0 when nothing leaks. */
extern atomic_int live_objects;

/* A pool of the environment's thread, which holds the one reference; NULL with errno set. */
struct pool *new_pool(const char *root, uint32_t wanted, bool may_hang, uint32_t idle_ms);
void hold_pool(struct pool *pool);
void drop_pool(struct pool *pool);

/*
 * Gives a job to the threads; 0, or an errno if there is none and none can be started: then the job is the
 * caller's again.
 */
int start_job(struct pool *pool, struct job *job);
/* Nobody waits for the job any more: it is told as ended as soon as no thread uses its memory. */
void abandon_job(struct pool *pool, struct job *job);
void drop_job(struct pool *pool, struct job *job);
void set_threads(struct pool *pool, uint32_t wanted);
/* Has the threads end when the queue is empty. */
void stop_threads(struct pool *pool);
/*
 * From its return on nothing of this environment is called or used: jobs are abandoned, and those who use
 * memory waited for.
 */
void leave_environment(struct pool *pool);
/* Jobs that have something to tell, each with a reference. */
struct job *take_posted(struct pool *pool, bool *has_ended);
/* How far a job has come: items done, and whether it has ended. */
uint32_t progress_of(struct pool *pool, struct job *job, bool *is_over);

/* For kinds of jobs, in threads. */
bool is_abandoned(struct job *job);
/* Between the two the memory that a job was lent may be used. False if the job was abandoned. */
bool begin_use(struct job *job, struct thread *self);
void end_use(struct job *job, struct thread *self);
/*
 * From here to the end of the item an abort waits, because what is done cannot be taken back. False if the
 * job was abandoned.
 */
bool begin_commit(struct job *job);
/* Closes the file that the thread has kept open, if any. */
void let_go(struct thread *self);
/* Memory of the thread itself, SCRATCH bytes; NULL if there is none. */
uint8_t *scratch_of(struct thread *self);

#endif
