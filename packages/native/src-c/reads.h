/* Jobs that read into memory of JavaScript: whole batches of files, and pieces of files that are open. */
#ifndef TIERED_READS_H
#define TIERED_READS_H

#include "job.h"
#include "memory.h"
#include "root.h"
#include <fcntl.h>

/* Opening must not wait for the writer of a FIFO, and not take over a terminal. */
#define READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/*
 * Opens a key, reads a range, looks at the file and closes it, in the calling thread, whatever the storage
 * does. Returns a count, fewer bytes than asked for only at the end of the file, or a code of codes.h.
 * `version` is NULL for any. The thread has waited if it gave the core away, as for a disk; it has not if
 * somebody else took it.
 */
int64_t read_now(struct root *root, const char *key, const char *version, struct memory target,
                 uint64_t offset, bool *has_waited);
/* Returns NOT_A_FILE for the errors of directories, FIFOs and sockets, and others as they are. */
int64_t meaning_of(int64_t outcome);

/* A read of a range, or of pieces, into one target. */
struct read {
  /* In the text of the job; NULL for a file that is open. */
  const char *key;
  /* NULL for any. */
  const char *version;
  uint64_t offset;
  struct range target;
  /*
   * In the numbers of the job: from where, counted from `offset`, and how many bytes, for each of so many;
   * none for one range.
   */
  const double *pieces;
  uint32_t piece_count;
  /* Memory of our own, where that of JavaScript is not shared. */
  uint8_t *own;
};

struct reads {
  struct job job;
  /*
   * Of a piece: the descriptor or a negative errno, whether it is ours to close, and whether its file has a
   * name still.
   */
  int fd;
  bool owns_fd, is_linked;
  /* Keys and versions. */
  char *text;
  /* Pieces of all reads. */
  double *pieces;
  struct memory *memories;
  struct read reads[];
};

/* Without memories, text and reads, which the caller fills in; NULL if there is no memory. */
struct reads *new_file_reads(struct pool *pool, double id, uint32_t count);
struct reads *new_piece_read(struct pool *pool, double id);

/*
 * In the array that a job keeps: the outcomes, as Float64Array, behind them the indexes of reads in the order
 * in which they ended, and a last number: of batches the milliseconds that threads took, of a piece whether
 * its file has a name; then the memories.
 */
#define KEPT_OUTCOMES 0
#define KEPT_MEMORIES 1

#endif
