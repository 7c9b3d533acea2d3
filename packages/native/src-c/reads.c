#include "reads.h"
#include "codes.h"
#include "in-thread.h"
#include "pool.h"
#include "version.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* `read(2)` takes 2 GiB at most; a round number below that. */
#define MOST_AT_ONCE ((size_t)1 << 30)

#define NOT_BLOCKING 8 /* RWF_NOWAIT */

struct source {
  int fd;
  uint64_t offset;
  /* UNKNOWN_SIZE, or the size, which saves the read that finds the end. */
  uint64_t size;
};

/* Fills memory from a file. Returns the bytes read, fewer only at its end, or a negative errno. */
static int64_t fill(const struct source *source, uint8_t *target, size_t length) {
  size_t filled = 0;
  while (filled < length && source->offset + filled < source->size) {
    size_t most = length - filled < MOST_AT_ONCE ? length - filled : MOST_AT_ONCE;
    ssize_t count = pread(source->fd, target + filled, most, (off_t)(source->offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if (count == 0) break;
    filled += (size_t)count;
  }
  return (int64_t)filled;
}

/*
 * Reads bytes that are in memory already, up to 1 GiB. Returns a count, or a negative errno: -EAGAIN if it
 * would wait for the storage.
 */
static int64_t read_at_once(int fd, uint8_t *target, size_t length, uint64_t offset) {
  struct iovec vector = {target, length < MOST_AT_ONCE ? length : MOST_AT_ONCE};
  /* By its number: not every C library has it. Its offset is two words, of which 64 bits are the first. */
  ssize_t count = syscall(SYS_preadv2, fd, &vector, 1, (long)offset, 0L, NOT_BLOCKING);
  return count < 0 ? -errno : count;
}

/*
 * Fills a target that an abort gives back at once, even if the storage hangs. Bytes that are in memory go
 * straight into it, and the rest goes by way of memory of the thread.
 */
static int64_t fill_carefully(struct job *job, struct source source, uint8_t *target, size_t length,
                              struct thread *self) {
  if (!begin_use(job, self)) return ABORTED;
  int64_t at_once = read_at_once(source.fd, target, length, source.offset);
  end_use(job, self);
  size_t filled = at_once > 0 ? (size_t)at_once : 0;
  source.offset += filled;
  /* The end of the file, as far as a version tells it. */
  if (filled == length || source.offset >= source.size) return (int64_t)filled;
  uint8_t *scratch = scratch_of(self);
  if (scratch == NULL) return -ENOMEM;
  for (;;) {
    size_t piece = length - filled < SCRATCH ? length - filled : SCRATCH;
    int64_t count = fill(&source, scratch, piece);
    if (count < 0) return count;
    if (!begin_use(job, self)) return ABORTED;
    memcpy(target + filled, scratch, (size_t)count);
    end_use(job, self);
    filled += (size_t)count;
    source.offset += (uint64_t)count;
    if (filled == length || (size_t)count < piece) return (int64_t)filled;
  }
}

/* The way of a job's bytes to their place. */
struct filling {
  struct job *job;
  struct thread *self;
  /* Whether the storage may hang, and the target may be asked back meanwhile. */
  bool is_careful;
};

static int64_t fill_range(const struct filling *filling, const struct source *source, uint8_t *target,
                          size_t length) {
  if (!filling->is_careful) return fill(source, target, length);
  return fill_carefully(filling->job, *source, target, length, filling->self);
}

/* Reads pieces one after the other, up to the first that the file cuts short. */
static int64_t fill_pieces(const struct filling *filling, const struct source *source, uint8_t *target,
                           const struct read *read) {
  size_t filled = 0;
  for (uint32_t i = 0; i < read->piece_count; i++) {
    size_t length = (size_t)read->pieces[2 * i + 1];
    struct source piece = *source;
    piece.offset += (uint64_t)read->pieces[2 * i];
    int64_t count = fill_range(filling, &piece, target + filled, length);
    if (count < 0) return count;
    filled += (size_t)count;
    if ((size_t)count < length) break;
  }
  return (int64_t)filled;
}

static int64_t fill_target(struct reads *job, struct read *read, struct source source, struct thread *self) {
  const struct memory *memory = &job->memories[read->target.memory];
  size_t length = read->target.length;
  if (length == 0) return 0;
  struct filling filling = {&job->job, self, memory->is_fixed && !job->job.is_direct};
  if (!memory->is_fixed && (read->own = malloc(length)) == NULL) return -ENOMEM;
  uint8_t *target = memory->is_fixed ? memory->data + read->target.offset : read->own;
  if (read->piece_count > 0) return fill_pieces(&filling, &source, target, read);
  return fill_range(&filling, &source, target, length);
}

/* Looks at the file after the read, because it may be changed meanwhile. */
static int64_t check(int fd, const char *version, int64_t count, bool *is_linked) {
  struct stat stat;
  if (fstat(fd, &stat) < 0) return -errno;
  if (!S_ISREG(stat.st_mode)) return NOT_A_FILE;
  *is_linked = stat.st_nlink > 0;
  return version == NULL || has_version(&stat, version) ? count : OTHER_VERSION;
}

int64_t meaning_of(int64_t outcome) {
  return outcome == -EISDIR || outcome == -ESPIPE || outcome == -ENXIO ? NOT_A_FILE : outcome;
}

/* Without a version, only an empty read may be of something that is no file. */
static bool must_check(const char *version, int64_t outcome) {
  return outcome == 0 || (outcome > 0 && version != NULL);
}

static uint64_t size_of(const char *version) {
  return version == NULL ? UNKNOWN_SIZE : size_in_version(version);
}

/* How often the thread has given the core away. */
static long waits(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : -1;
}

static int64_t read_named(struct root *root, const char *key, const char *version, struct memory target,
                          uint64_t offset) {
  int fd = open_inside(root, key, READ_FLAGS);
  if (fd < 0) return meaning_of(fd);
  struct source source = {fd, offset, size_of(version)};
  int64_t outcome = fill(&source, target.data, target.length);
  if (must_check(version, outcome)) outcome = check(fd, version, outcome, &(bool){true});
  close(fd);
  return meaning_of(outcome);
}

int64_t read_now(struct root *root, const char *key, const char *version, struct memory target,
                 uint64_t offset, bool *has_waited) {
  long before = waits();
  int64_t outcome = read_named(root, key, version, target, offset);
  *has_waited = before < 0 || waits() != before;
  return outcome;
}

/* Whether the item behind this one is in the same file: then opening it costs more than reading. */
static bool is_next_alike(const struct reads *reads, uint32_t item) {
  return item + 1 < reads->job.count && strcmp(reads->reads[item].key, reads->reads[item + 1].key) == 0;
}

/*
 * The file of an item: the one that the thread has kept of the item before, or else opened; a descriptor, or
 * an outcome.
 */
static int file_of(struct reads *reads, uint32_t item, struct thread *self) {
  const char *key = reads->reads[item].key;
  if (self->kept_fd >= 0 && strcmp(self->kept_key, key) == 0) return self->kept_fd;
  let_go(self);
  int fd = open_inside(&reads->job.pool->root, key, READ_FLAGS);
  if (fd >= 0) {
    self->kept_fd = fd;
    self->kept_key = key;
  }
  return fd;
}

static int64_t read_file(struct job *job, uint32_t item, struct thread *self) {
  struct reads *reads = (struct reads *)job;
  struct read *read = &reads->reads[item];
  int fd = file_of(reads, item, self);
  if (fd < 0) return meaning_of(fd);
  int64_t outcome = fill_target(reads, read, (struct source){fd, read->offset, size_of(read->version)}, self);
  if (must_check(read->version, outcome)) outcome = check(fd, read->version, outcome, &(bool){true});
  if (outcome < 0 || !is_next_alike(reads, item)) let_go(self);
  return meaning_of(outcome);
}

static int64_t read_piece(struct job *job, uint32_t item, struct thread *self) {
  struct reads *reads = (struct reads *)job;
  struct read *read = &reads->reads[item];
  if (reads->fd < 0) return reads->fd;
  int64_t outcome =
      fill_target(reads, read, (struct source){reads->fd, read->offset, size_of(read->version)}, self);
  if (must_check(read->version, outcome))
    outcome = check(reads->fd, read->version, outcome, &reads->is_linked);
  return meaning_of(outcome);
}

/* ---- back in the environment's thread ---- */

/* Copies the bytes read to their target, if that is still there. */
static int64_t copy(napi_env env, struct pool *pool, struct read *read, napi_value keep, int64_t outcome) {
  napi_value view;
  struct memory memory;
  if (read->own == NULL || outcome <= 0) return outcome;
  if (napi_get_element(env, keep, KEPT_MEMORIES + read->target.memory, &view) != napi_ok) return DETACHED;
  if (!get_memory(env, view, &memory)) return DETACHED;
  if (!is_within(&memory, (double)read->target.offset, (double)read->target.length)) return DETACHED;
  memcpy(memory.data + read->target.offset, read->own, (size_t)outcome);
  pool->copied += (size_t)outcome;
  free(read->own);
  read->own = NULL;
  return outcome;
}

static double last_number(const struct reads *reads) {
  if (reads->reads[0].key == NULL) return reads->is_linked;
  return (double)reads->job.told_busy_ns / 1e6;
}

static uint32_t deliver(napi_env env, struct job *job, napi_value keep, uint32_t from, uint32_t to) {
  struct reads *reads = (struct reads *)job;
  napi_value view;
  napi_typedarray_type type;
  size_t length;
  double *outcomes;
  if (napi_get_element(env, keep, KEPT_OUTCOMES, &view) != napi_ok) return to;
  for (uint32_t at = from; at < to; at++) {
    if (job->pool->copied >= COPIED_A_TURN) return at;
    uint32_t item = job->finished[at];
    int64_t outcome = copy(env, job->pool, &reads->reads[item], keep, job->outcomes[item]);
    /* Asked for anew each time: JavaScript may have given it away. */
    if (napi_get_typedarray_info(env, view, &type, &length, (void **)&outcomes, NULL, NULL) != napi_ok)
      return to;
    if (type != napi_float64_array || length <= 2 * (size_t)job->count) return to;
    outcomes[item] = (double)outcome;
    outcomes[job->count + at] = item;
    outcomes[2 * (size_t)job->count] = last_number(reads);
  }
  return to;
}

/* ---- making and freeing ---- */

static void destroy(struct job *job) {
  struct reads *reads = (struct reads *)job;
  for (uint32_t i = 0; i < job->count; i++) free(reads->reads[i].own);
  if (reads->owns_fd) close(reads->fd);
  free(reads->text);
  free(reads->pieces);
  free(reads->memories);
  free_job(job);
}

static const struct job_kind file_reads = {read_file, deliver, destroy};
static const struct job_kind piece_reads = {read_piece, deliver, destroy};

static struct reads *new_reads(const struct job_kind *kind, struct pool *pool, double id, uint32_t count) {
  return (struct reads *)new_job(sizeof(struct reads) + count * sizeof(struct read), kind, pool, id, count);
}

struct reads *new_file_reads(struct pool *pool, double id, uint32_t count) {
  return new_reads(&file_reads, pool, id, count);
}

struct reads *new_piece_read(struct pool *pool, double id) {
  struct reads *reads = new_reads(&piece_reads, pool, id, 1);
  if (reads != NULL) reads->is_linked = true;
  return reads;
}
