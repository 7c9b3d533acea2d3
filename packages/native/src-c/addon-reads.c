/* Functions of the addon that read. */
#include "addon.h"
#include "arguments.h"
#include "environment.h"
#include "open-file.h"
#include "reads.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys, and then, unless there are none, as many versions, of which an empty one stands for any. */
static bool set_texts(napi_env env, struct reads *reads, size_t length) {
  char *at = reads->text;
  const char *end = reads->text + length;
  uint32_t count = reads->job.count;
  for (uint32_t i = 0; i < count; i++)
    if ((reads->reads[i].key = next_text(&at, end)) == NULL)
      return throw_range(env, "there are fewer keys than reads");
  for (uint32_t i = 0; i < count && at != NULL; i++) {
    const char *version = next_text(&at, end);
    if (*version != '\0') reads->reads[i].version = version;
    if (at == NULL && i + 1 < count) return throw_range(env, "there are fewer versions than reads");
  }
  return at == NULL || throw_range(env, "there are more texts than reads");
}

/* Five numbers a read: the memory, where in it, how many bytes, where in the file, and how many pieces. */
#define NUMBERS 5

static bool set_ranges(napi_env env, struct reads *reads, uint32_t memories, const double *numbers) {
  for (uint32_t i = 0; i < reads->job.count; i++, numbers += NUMBERS) {
    struct read *read = &reads->reads[i];
    if (!is_whole(numbers[0], (double)memories - 1)) return throw_range(env, "there is no such memory");
    if (!is_whole(numbers[1], MOST_WHOLE) || !is_whole(numbers[2], MOST_WHOLE) ||
        !is_whole(numbers[3], MOST_WHOLE))
      return throw_range(env, "offsets and lengths are whole numbers of at least 0");
    read->target = (struct range){(uint32_t)numbers[0], (size_t)numbers[1], (size_t)numbers[2]};
    read->offset = (uint64_t)numbers[3];
    if (!is_within(&reads->memories[read->target.memory], numbers[1], numbers[2]))
      return throw_range(env, "a target is not within its memory");
  }
  return true;
}

/* The pieces of a read fill its target. */
static bool are_pieces(const double *pieces, uint32_t count, double room) {
  double length = 0;
  for (uint32_t i = 0; i < 2 * count; i++)
    if (!is_whole(pieces[i], MOST_WHOLE)) return false;
  for (uint32_t i = 0; i < count; i++) length += pieces[2 * i + 1];
  return length == room;
}

/* Two numbers a piece: from where, and how many bytes. They stand behind the numbers of all reads. */
static bool set_pieces(napi_env env, struct reads *reads, const double *numbers, size_t length) {
  uint32_t count = reads->job.count;
  size_t room = length - (size_t)count * NUMBERS;
  reads->pieces = malloc(room * sizeof(double) + 1);
  if (reads->pieces == NULL) return throw_range(env, "there is no memory");
  memcpy(reads->pieces, numbers + (size_t)count * NUMBERS, room * sizeof(double));
  const double *pieces = reads->pieces;
  for (uint32_t i = 0; i < count; i++) {
    double has = numbers[(size_t)i * NUMBERS + NUMBERS - 1];
    if (!is_whole(has, (double)(room / 2))) return throw_range(env, "there are fewer pieces than reads have");
    struct read *read = &reads->reads[i];
    read->piece_count = (uint32_t)has;
    read->pieces = pieces;
    room -= 2 * (size_t)read->piece_count;
    pieces += 2 * (size_t)read->piece_count;
    if (read->piece_count > 0 && !are_pieces(read->pieces, read->piece_count, (double)read->target.length))
      return throw_range(env, "the pieces of a read are whole numbers, and fill its target");
  }
  return room == 0 || throw_range(env, "there are more pieces than reads have");
}

static bool set_memories(napi_env env, struct reads *reads, napi_value keep, uint32_t count, bool is_fixed) {
  reads->memories = calloc(count, sizeof *reads->memories);
  if (reads->memories == NULL) return throw_range(env, "there is no memory");
  for (uint32_t i = 0; i < count; i++) {
    if (!get_memory_at(env, keep, KEPT_MEMORIES + i, &reads->memories[i])) return false;
    if (is_fixed) reads->memories[i].is_fixed = true;
    /* Threads that may hang read by way of memory of their own. */
    if (reads->memories[i].is_fixed && !reads->job.pool->may_hang) reads->job.is_direct = true;
  }
  return true;
}

/* The outcomes have room for twice as many, for the order as well, and for one more. */
static bool has_room(napi_env env, napi_value keep, uint32_t count) {
  napi_value view;
  double *numbers;
  size_t length;
  if (napi_get_element(env, keep, KEPT_OUTCOMES, &view) != napi_ok)
    return throw_type(env, "expected outcomes");
  if (!get_numbers(env, view, &numbers, &length)) return false;
  return length > 2 * (size_t)count || throw_range(env, "there is no room for the outcomes");
}

/* readFiles(pool, id, texts, reads, numbers, keep, hasProgress, isFixed) */
napi_value read_files(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double id, count;
  bool has_progress, is_fixed;
  napi_value keep;
  uint32_t kept;
  double *numbers;
  size_t length;
  if (!get_arguments(env, info, 8, &arguments)) return NULL;
  napi_value *values = arguments.values;
  /* First the calls that may run JavaScript. */
  if (!get_array(env, values[5], KEPT_MEMORIES + 1, &keep, &kept)) return NULL;
  if ((pool = get_pool(env, values[0])) == NULL || !get_whole(env, values[1], MOST_WHOLE, &id)) return NULL;
  if (!get_whole(env, values[3], MOST_ITEMS, &count)) return NULL;
  if (!get_flag(env, values[6], &has_progress) || !get_flag(env, values[7], &is_fixed)) return NULL;
  if (!get_numbers(env, values[4], &numbers, &length)) return NULL;
  if (count == 0 || length < count * NUMBERS)
    return nothing(throw_range(env, "expected five numbers for each of 1 to 65536 reads"));
  struct reads *reads = new_file_reads(pool, id, (uint32_t)count);
  if (reads == NULL) return nothing(throw_range(env, "there is no memory"));
  reads->job.has_progress = has_progress;
  size_t text_length;
  bool is_ready = has_room(env, keep, reads->job.count) &&
                  set_memories(env, reads, keep, kept - KEPT_MEMORIES, is_fixed) &&
                  set_ranges(env, reads, kept - KEPT_MEMORIES, numbers) &&
                  set_pieces(env, reads, numbers, length) &&
                  get_text(env, values[2], &reads->text, &text_length) && set_texts(env, reads, text_length);
  submit(env, pool, &reads->job, keep, is_ready);
  return NULL;
}

/* readFile(pool, id, texts, offset, keep, isFixed): a range of a file into all of the one memory that is
 * kept. */
napi_value read_file(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double id, offset;
  bool is_fixed;
  napi_value keep;
  uint32_t kept;
  if (!get_arguments(env, info, 6, &arguments)) return NULL;
  napi_value *values = arguments.values;
  if (!get_array(env, values[4], KEPT_MEMORIES + 1, &keep, &kept)) return NULL;
  if ((pool = get_pool(env, values[0])) == NULL || !get_whole(env, values[1], MOST_WHOLE, &id)) return NULL;
  if (!get_whole(env, values[3], MOST_WHOLE, &offset) || !get_flag(env, values[5], &is_fixed)) return NULL;
  struct reads *reads = new_file_reads(pool, id, 1);
  if (reads == NULL) return nothing(throw_range(env, "there is no memory"));
  size_t text_length;
  bool is_ready = has_room(env, keep, 1) && set_memories(env, reads, keep, 1, is_fixed) &&
                  get_text(env, values[2], &reads->text, &text_length) && set_texts(env, reads, text_length);
  if (is_ready) reads->reads[0].target.length = reads->memories[0].length;
  reads->reads[0].offset = (uint64_t)offset;
  submit(env, pool, &reads->job, keep, is_ready);
  return NULL;
}

/*
 * readPiece(pool, id, fd, offset, version, keep, isFixed): of an open file into the one memory that is kept,
 * all of it.
 */
napi_value read_piece(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double id, fd, offset;
  bool is_fixed;
  napi_value keep;
  uint32_t kept;
  if (!get_arguments(env, info, 7, &arguments)) return NULL;
  napi_value *values = arguments.values;
  if (!get_array(env, values[5], KEPT_MEMORIES + 1, &keep, &kept)) return NULL;
  if ((pool = get_pool(env, values[0])) == NULL || !get_whole(env, values[1], MOST_WHOLE, &id)) return NULL;
  if (!get_whole(env, values[2], INT32_MAX, &fd) || !get_whole(env, values[3], MOST_WHOLE, &offset))
    return NULL;
  if (!get_flag(env, values[6], &is_fixed)) return NULL;
  struct reads *reads = new_piece_read(pool, id);
  if (reads == NULL) return nothing(throw_range(env, "there is no memory"));
  reads->fd = (int)fd;
  reads->reads[0].offset = (uint64_t)offset;
  size_t text_length;
  bool is_ready = has_room(env, keep, 1) && set_memories(env, reads, keep, 1, is_fixed) &&
                  get_text(env, values[4], &reads->text, &text_length);
  if (is_ready && text_length > 0) reads->reads[0].version = reads->text;
  if (is_ready) reads->reads[0].target.length = reads->memories[0].length;
  /* A thread that hangs would use the number after the file was closed, and of another file by then. */
  if (is_ready && pool->may_hang) reads->fd = fcntl((int)fd, F_DUPFD_CLOEXEC, 0);
  if (reads->fd < 0) reads->fd = -errno;
  reads->owns_fd = is_ready && pool->may_hang && reads->fd >= 0;
  submit(env, pool, &reads->job, keep, is_ready);
  return NULL;
}

/* openFile(pool, id, key, keep) */
napi_value open_file(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double id;
  napi_value keep, view;
  uint32_t kept;
  double *numbers;
  size_t length, key_length;
  if (!get_arguments(env, info, 4, &arguments)) return NULL;
  napi_value *values = arguments.values;
  if (!get_array(env, values[3], KEPT_DESCRIPTOR + 1, &keep, &kept)) return NULL;
  if ((pool = get_pool(env, values[0])) == NULL || !get_whole(env, values[1], MOST_WHOLE, &id)) return NULL;
  if (napi_get_element(env, keep, KEPT_DESCRIPTOR, &view) != napi_ok) return NULL;
  if (!get_numbers(env, view, &numbers, &length)) return NULL;
  if (length < 1) return nothing(throw_range(env, "there is no room for the descriptor"));
  struct open_file *opening = new_open_file(pool, id);
  if (opening == NULL) return nothing(throw_range(env, "there is no memory"));
  bool is_ready = get_text(env, values[2], &opening->key, &key_length);
  /* The system ignores all behind a NUL. */
  if (is_ready && strlen(opening->key) != key_length) is_ready = throw_range(env, "a key has no NUL");
  submit(env, pool, &opening->job, keep, is_ready);
  return NULL;
}

/*
 * readFileNow(pool, texts, target, offset, into): the texts are a key, and a version or nothing. Writes the
 * bytes read, or a code, and 1 if the thread has waited.
 */
napi_value read_file_now(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  struct memory memory;
  double offset;
  double *into;
  char *texts;
  size_t length, room;
  if (!get_arguments(env, info, 5, &arguments)) return NULL;
  napi_value *values = arguments.values;
  if ((pool = get_pool(env, values[0])) == NULL || !get_whole(env, values[3], MOST_WHOLE, &offset))
    return NULL;
  if (!get_numbers(env, values[4], &into, &room)) return NULL;
  if (room < 2) return nothing(throw_range(env, "there is no room for the outcome"));
  if (!get_text(env, values[1], &texts, &length)) return NULL;
  char *at = texts;
  const char *key = next_text(&at, texts + length);
  const char *version = at == NULL ? NULL : next_text(&at, texts + length);
  bool is_ready = at == NULL || throw_range(env, "expected a key and a version");
  if (is_ready && !get_memory(env, values[2], &memory))
    is_ready = throw_type(env, "expected a Uint8Array that is not detached");
  if (is_ready) {
    bool has_waited;
    into[0] = (double)read_now(&pool->root, key, version, memory, (uint64_t)offset, &has_waited);
    into[1] = has_waited;
  }
  free(texts);
  return NULL;
}
