/* The way back to JavaScript: jobs that have something to tell, and its wake-up. */
#ifndef TIERED_POSTED_H
#define TIERED_POSTED_H

#include "pool.h"

/* Jobs that have something to tell, each with a reference. */
struct job *take_posted(struct pool *pool, bool *has_ended);
/* How far a job has come, which was taken by take_posted or not: items done, and whether it has ended. */
uint32_t progress_of(struct pool *pool, struct job *job, bool was_taken, bool *is_over);

/* The rest needs the lock of the pool. */

/* Wakes the environment, once until it comes. */
void notify(struct pool *pool);
/* Puts a job among those that have something to tell. */
void post(struct pool *pool, struct job *job);
/* A job that was abandoned is told as ended, once no thread uses its memory. */
void tell_if_unused(struct pool *pool, struct job *job);
/* The environment cannot be told any more. */
void drop_posted(struct pool *pool);

#endif
