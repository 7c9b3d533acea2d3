/* Locks that programs take on files of which they have opened copies. */
#ifndef TIERED_LOCKS_H
#define TIERED_LOCKS_H

/*
 * Makes the descriptor of a copy that this process opened one of the source's file, at the same offset, so
 * that its locks are seen by all who open the file. Reads at an offset stay with the copy (twins.h). Leaves
 * the descriptor as it is where the source's file is another one now, or cannot be opened. Keeps errno.
 */
void lock_at_source(int fd);

#endif
