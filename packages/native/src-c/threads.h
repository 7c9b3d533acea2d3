/* The threads of a pool; threads.c opens with the whole picture. */
#ifndef TIERED_THREADS_H
#define TIERED_THREADS_H

#include "pool.h"

/* Threads that a pool may ever have, those that hang included. */
#define MOST_THREADS 256

/*
 * Gives a job to the threads; 0, or an errno if there is none and none can be started: then the job is the
 * caller's again.
 */
int start_job(struct pool *pool, struct job *job);
/* Abandons a job: it is told as ended as soon as no thread uses its memory. */
void abandon_job(struct pool *pool, struct job *job);
void set_threads(struct pool *pool, uint32_t wanted);
/* Has the threads end when the queue is empty. */
void stop_threads(struct pool *pool);
/*
 * Abandons all jobs, and waits for threads that use memory. After it returns, nothing of this environment is
 * called or used.
 */
void leave_environment(struct pool *pool);

#endif
