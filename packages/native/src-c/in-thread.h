/* Functions for a kind of job, to be called in a thread while it does one of its items. */
#ifndef TIERED_IN_THREAD_H
#define TIERED_IN_THREAD_H

#include "job.h"

/* Small enough to stay in the processor's cache between a read and the copy. */
#define SCRATCH (256 * 1024)

bool is_abandoned(struct job *job);
/* Between the two the memory that a job was lent may be used. False if the job was abandoned. */
bool begin_use(struct job *job, struct thread *self);
void end_use(struct job *job, struct thread *self);
/*
 * Begins something that cannot be taken back: an abort waits from here to the end of the item. False if the
 * job was abandoned.
 */
bool begin_commit(struct job *job);
/* Closes the file that the thread has kept open, if any. */
void let_go(struct thread *self);
/* Memory of the thread itself, SCRATCH bytes; NULL if there is none. */
uint8_t *scratch_of(struct thread *self);

#endif
