/* Functions of the addon that write. */
#include "addon.h"
#include "arguments.h"
#include "environment.h"
#include "write-file.h"
#include <stdlib.h>
#include <string.h>

/* Returns the bytes in all. Copies parts that may be taken away. */
static bool set_parts(napi_env env, struct write_file *job, napi_value keep, uint32_t count, bool is_fixed,
                      double *bytes) {
  job->parts = calloc(count + 1, sizeof *job->parts);
  if (job->parts == NULL) return throw_range(env, "there is no memory");
  for (uint32_t i = 0; i < count; i++) {
    struct memory part;
    if (!get_memory_at(env, keep, KEPT_PARTS + i, &part)) return false;
    if (is_fixed) part.is_fixed = true;
    if (!part.is_fixed) {
      uint8_t *copy = malloc(part.length + 1);
      if (copy == NULL) return throw_range(env, "there is no memory");
      if (part.length > 0) memcpy(copy, part.data, part.length);
      part.data = copy;
    }
    job->parts[i] = part;
    job->parts_count++;
    *bytes += (double)part.length;
  }
  return true;
}

static bool set_sums(napi_env env, struct write_file *job, napi_value keep, double bytes) {
  napi_value view;
  napi_typedarray_type type;
  size_t length;
  if (job->sum_every == 0) return true;
  job->sums_count = ((uint64_t)bytes + job->sum_every - 1) / job->sum_every;
  if (napi_get_element(env, keep, KEPT_SUMS, &view) != napi_ok) return throw_type(env, "expected sums");
  if (napi_get_typedarray_info(env, view, &type, &length, NULL, NULL, NULL) != napi_ok ||
      type != napi_biguint64_array)
    return throw_type(env, "expected a BigUint64Array");
  if (length < job->sums_count) return throw_range(env, "there is no room for the sums");
  job->sums = calloc(job->sums_count + 1, sizeof *job->sums);
  return job->sums != NULL || throw_range(env, "there is no memory");
}

/* Four numbers: mode, whether it is synced, whether only if absent, and the bytes of each sum. */
static bool set_options(napi_env env, struct write_file *job, const double *numbers, size_t length) {
  if (length != 4) return throw_range(env, "expected four numbers");
  if (!is_whole(numbers[0], 07777) || !is_whole(numbers[1], 1) || !is_whole(numbers[2], 1) ||
      !is_whole(numbers[3], MOST_WHOLE))
    return throw_range(env, "a mode, a flag or a length is no such number");
  job->mode = (mode_t)numbers[0];
  job->syncs = numbers[1] == 1;
  job->if_absent = numbers[2] == 1;
  job->sum_every = (uint64_t)numbers[3];
  return true;
}

static bool set_names(napi_env env, struct write_file *job, napi_value text) {
  size_t length;
  if (!get_text(env, text, &job->text, &length)) return false;
  char *at = job->text;
  job->temporary = next_text(&at, job->text + length);
  job->target = next_text(&at, job->text + length);
  return (job->target != NULL && at == NULL) || throw_range(env, "expected two names");
}

/* writeFile(pool, id, texts, numbers, keep, isFixed) */
napi_value write_file(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double id, bytes = 0;
  bool is_fixed;
  napi_value keep;
  uint32_t kept;
  double *numbers;
  size_t length;
  if (!get_arguments(env, info, 6, &arguments)) return NULL;
  napi_value *values = arguments.values;
  if (!get_array(env, values[4], KEPT_PARTS, &keep, &kept)) return NULL;
  if ((pool = get_pool(env, values[0])) == NULL || !get_whole(env, values[1], MOST_WHOLE, &id)) return NULL;
  if (!get_numbers(env, values[3], &numbers, &length) || !get_flag(env, values[5], &is_fixed)) return NULL;
  struct write_file *job = new_write_file(pool, id);
  if (job == NULL) return nothing(throw_range(env, "there is no memory"));
  /* An abort waits until the temporary file is gone, unless that may take for ever. */
  job->job.is_direct = !pool->may_hang;
  bool is_ready = set_options(env, job, numbers, length) && set_names(env, job, values[2]) &&
                  set_parts(env, job, keep, kept - KEPT_PARTS, is_fixed, &bytes) &&
                  set_sums(env, job, keep, bytes);
  submit(env, pool, &job->job, keep, is_ready);
  return NULL;
}
