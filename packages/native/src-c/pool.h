/* State that the threads of a pool share with its environment; threads.c opens with the whole picture. */
#ifndef TIERED_POOL_H
#define TIERED_POOL_H

#include "job.h"
#include "root.h"
#include <pthread.h>

/* The most bytes that the environment's thread copies in one turn of the event loop. */
#define COPIED_A_TURN ((size_t)8 << 20)

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
  /* Bytes that were copied since the event loop was known to have turned; and whether that is awaited. */
  size_t copied;
  bool awaits_turn;

  pthread_mutex_t lock;
  /* Work, or an end, for idle threads. */
  pthread_cond_t work;
  /* No thread uses memory of an abandoned job any more. */
  pthread_cond_t unused;
  /* Threads: how many are wanted, alive, idle, and left with an abandoned job, where they may hang. */
  uint32_t wanted, alive, idle, left;
  bool is_stopping;
  /* Whether the environment cannot be called any more. */
  bool is_gone;
  bool is_notified;
  uint32_t references;
  struct job *queue, *queue_end;
  struct job *posted, *posted_end;
};

/* A pool of the environment's thread, which holds the one reference; NULL with errno set. */
struct pool *new_pool(const char *root, uint32_t wanted, bool may_hang, uint32_t idle_ms);
void hold_pool(struct pool *pool);
void drop_pool(struct pool *pool);
void drop_job(struct pool *pool, struct job *job);

/* The rest needs the lock of the pool. */

void drop_job_locked(struct job *job);
/* The queue holds jobs with items that nobody has begun. */
void enqueue(struct pool *pool, struct job *job);
/* Does nothing with a job that is not in it. */
void dequeue(struct pool *pool, struct job *job);

#endif
