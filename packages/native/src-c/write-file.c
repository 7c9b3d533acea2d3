#include "write-file.h"
#include "codes.h"
#include "in-thread.h"
#include "pool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include "vendor/xxhash.h"

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define FILE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
/* The bits of a mode that are rights. */
#define RIGHTS 0777

/* A file on its way. */
struct writing {
  struct write_file *job;
  struct thread *self;
  int temporary_directory, target_directory, fd;
  const char *temporary, *target;
  uint64_t written;
  XXH64_state_t sum;
};

static int64_t write_bytes(int fd, const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = write(fd, bytes, length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    bytes += count;
    length -= (size_t)count;
  }
  return 0;
}

/* Adds bytes to the present sum. They do not go beyond its end. */
static void add_to_sum(struct writing *writing, const uint8_t *bytes, size_t length) {
  struct write_file *job = writing->job;
  if (job->sum_every == 0) return;
  if (writing->written % job->sum_every == 0) XXH64_reset(&writing->sum, 0);
  XXH64_update(&writing->sum, bytes, length);
  job->sums[writing->written / job->sum_every] = XXH64_digest(&writing->sum);
}

/* Writes and sums a piece while it is in the processor's cache. */
static int64_t write_piece(struct writing *writing, const struct memory *part, const uint8_t *bytes,
                           size_t length) {
  struct job *job = &writing->job->job;
  if (part->is_fixed && !job->is_direct) {
    uint8_t *scratch = scratch_of(writing->self);
    if (scratch == NULL) return -ENOMEM;
    if (!begin_use(job, writing->self)) return ABORTED;
    memcpy(scratch, bytes, length);
    end_use(job, writing->self);
    bytes = scratch;
  }
  add_to_sum(writing, bytes, length);
  int64_t outcome = write_bytes(writing->fd, bytes, length);
  writing->written += length;
  return outcome;
}

static size_t next_piece(const struct writing *writing, size_t left) {
  uint64_t every = writing->job->sum_every;
  uint64_t piece = left < SCRATCH ? left : SCRATCH;
  if (every == 0) return (size_t)piece;
  uint64_t until_sum = every - writing->written % every;
  return (size_t)(piece < until_sum ? piece : until_sum);
}

static int64_t write_parts(struct writing *writing) {
  struct write_file *job = writing->job;
  for (uint32_t i = 0; i < job->parts_count; i++) {
    const struct memory *part = &job->parts[i];
    const uint8_t *bytes = part->data;
    for (size_t left = part->length; left > 0;) {
      size_t piece = next_piece(writing, left);
      if (is_abandoned(&job->job)) return ABORTED;
      int64_t outcome = write_piece(writing, part, bytes, piece);
      if (outcome < 0) return outcome;
      bytes += piece;
      left -= piece;
    }
  }
  return 0;
}

static int64_t open_directories(struct writing *writing) {
  struct write_file *job = writing->job;
  struct root *root = &job->job.pool->root;
  int flags = job->syncs ? O_RDONLY | O_DIRECTORY | O_CLOEXEC : DIRECTORY_FLAGS;
  job->step = OPEN_DIRECTORY;
  writing->target_directory = open_directory_of(root, job->target, flags, &writing->target);
  if (writing->target_directory < 0) return writing->target_directory;
  writing->temporary_directory =
      open_directory_of(root, job->temporary, DIRECTORY_FLAGS, &writing->temporary);
  return writing->temporary_directory < 0 ? writing->temporary_directory : 0;
}

/* Gives a new file the rights that the umask took away. A file system without modes may give more. */
static int64_t give_rights(int fd, mode_t wanted) {
  struct stat made;
  if (fstat(fd, &made) < 0) return -errno;
  if ((wanted & RIGHTS & ~made.st_mode) == 0) return 0;
  return fchmod(fd, wanted) < 0 ? -errno : 0;
}

static int64_t create(struct writing *writing) {
  struct write_file *job = writing->job;
  job->step = CREATE;
  writing->fd = openat(writing->temporary_directory, writing->temporary, FILE_FLAGS, job->mode);
  if (writing->fd < 0) return -errno;
  return give_rights(writing->fd, job->mode);
}

static int64_t write_content(struct writing *writing) {
  struct write_file *job = writing->job;
  job->step = WRITE;
  int64_t outcome = write_parts(writing);
  if (outcome < 0 || !job->syncs) return outcome;
  job->step = SYNC;
  return fsync(writing->fd) < 0 ? -errno : 0;
}

/* Some file systems say only now what became of the bytes. */
static int64_t close_file(struct writing *writing) {
  writing->job->step = CLOSE;
  int fd = writing->fd;
  writing->fd = -1;
  return close(fd) < 0 && errno != EINTR ? -errno : 0;
}

/* From here to the end of the job an abort waits: it must be known whether the file got its name. */
static int64_t publish(struct writing *writing) {
  struct write_file *job = writing->job;
  int from = writing->temporary_directory, to = writing->target_directory;
  job->step = PUBLISH;
  if (!begin_commit(&job->job)) return ABORTED;
  if (!job->if_absent) return renameat(from, writing->temporary, to, writing->target) < 0 ? -errno : 0;
  /* A rename replaces another file; link fails if there is one. */
  if (linkat(from, writing->temporary, to, writing->target, 0) < 0) return -errno;
  /* The object is there. The other name is in nobody's way. */
  unlinkat(from, writing->temporary, 0);
  return 0;
}

static int64_t sync_directory(struct writing *writing) {
  struct write_file *job = writing->job;
  if (!job->syncs) return 0;
  job->step = SYNC_DIRECTORY;
  return fsync(writing->target_directory) < 0 ? -errno : 0;
}

static int64_t write_file(struct writing *writing) {
  int64_t outcome = create(writing);
  bool is_created = writing->fd >= 0;
  if (outcome == 0) outcome = write_content(writing);
  if (outcome == 0) outcome = close_file(writing);
  if (outcome == 0) outcome = publish(writing);
  if (outcome == 0) return sync_directory(writing);
  if (writing->fd >= 0) close(writing->fd);
  if (is_created) unlinkat(writing->temporary_directory, writing->temporary, 0);
  return outcome;
}

static int64_t run(struct job *job, uint32_t item, struct thread *self) {
  (void)item;
  struct writing writing = {.job = (struct write_file *)job,
                            .self = self,
                            .temporary_directory = -1,
                            .target_directory = -1,
                            .fd = -1};
  int64_t outcome = open_directories(&writing);
  if (outcome == 0) outcome = write_file(&writing);
  if (writing.temporary_directory >= 0) close(writing.temporary_directory);
  if (writing.target_directory >= 0) close(writing.target_directory);
  return outcome;
}

/* ---- back in the environment's thread ---- */

/* Copies numbers into a typed array of JavaScript, if it is still of that type and size. */
static void tell(napi_env env, napi_value keep, uint32_t element, napi_typedarray_type wanted,
                 const void *from, size_t count) {
  napi_value view;
  napi_typedarray_type type;
  size_t length;
  void *data;
  if (count == 0 || napi_get_element(env, keep, element, &view) != napi_ok) return;
  if (napi_get_typedarray_info(env, view, &type, &length, &data, NULL, NULL) != napi_ok) return;
  if (type == wanted && length >= count) memcpy(data, from, count * sizeof(uint64_t));
}

static uint32_t deliver(napi_env env, struct job *base, napi_value keep, uint32_t from, uint32_t to) {
  struct write_file *job = (struct write_file *)base;
  /* Abandoned, and a thread may still work on it. */
  if (from == to) return to;
  double result[] = {(double)base->outcomes[0], job->step};
  tell(env, keep, KEPT_RESULT, napi_float64_array, result, 2);
  tell(env, keep, KEPT_SUMS, napi_biguint64_array, job->sums, base->outcomes[0] == 0 ? job->sums_count : 0);
  return to;
}

/* ---- making and freeing ---- */

static void destroy(struct job *base) {
  struct write_file *job = (struct write_file *)base;
  for (uint32_t i = 0; i < job->parts_count; i++)
    if (!job->parts[i].is_fixed) free(job->parts[i].data);
  free(job->parts);
  free(job->sums);
  free(job->text);
  free_job(base);
}

static const struct job_kind kind = {run, deliver, destroy};

struct write_file *new_write_file(struct pool *pool, double id) {
  return (struct write_file *)new_job(sizeof(struct write_file), &kind, pool, id, 1);
}
