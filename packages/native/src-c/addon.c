/* The functions of the addon; src/binding.ts has their signatures. They run in the environment's thread. */
#include "addon.h"
#include "arguments.h"
#include "environment.h"
#include "live-objects.h"
#include "threads.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- open, stop, release ---- */

/* open(root, threads, mayHang, idleMs, deliver) */
static napi_value open_pool(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  napi_value id = NULL;
  napi_valuetype type;
  char *root;
  size_t length;
  double threads, idle_ms;
  bool may_hang;
  if (!get_arguments(env, info, 5, &arguments)) return NULL;
  napi_value *values = arguments.values;
  if (!get_whole(env, values[1], MOST_THREADS, &threads) || !get_flag(env, values[2], &may_hang)) return NULL;
  if (!get_whole(env, values[3], 1e9, &idle_ms)) return NULL;
  if (threads < 1) return nothing(throw_range(env, "expected at least 1 thread"));
  napi_typeof(env, values[4], &type);
  if (type != napi_function) return nothing(throw_type(env, "expected a function"));
  if (!get_text(env, values[0], &root, &length)) return NULL;
  struct pool *pool = NULL;
  if (*root != '/' || strlen(root) != length) throw_type(env, "expected an absolute path");
  else if ((pool = new_pool(root, (uint32_t)threads, may_hang, (uint32_t)idle_ms)) == NULL)
    napi_create_int32(env, -errno, &id);
  free(root);
  if (pool == NULL) return id;
  if (add_pool(env, pool, values[4])) napi_create_uint32(env, pool->id, &id);
  else drop_pool(pool);
  return id;
}

/* stop(pool): its threads end when there is nothing to do, and JavaScript is told -1 then. */
static napi_value stop(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  if (!get_arguments(env, info, 1, &arguments) || (pool = get_pool(env, arguments.values[0])) == NULL)
    return NULL;
  if (pool->is_stopping_told) return NULL;
  pool->is_stopping_told = true;
  napi_ref_threadsafe_function(env, pool->wake_javascript);
  stop_threads(pool);
  return NULL;
}

/* release(pool): ends it for JavaScript. */
static napi_value release(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  if (!get_arguments(env, info, 1, &arguments) || (pool = get_pool(env, arguments.values[0])) == NULL)
    return NULL;
  release_pool(pool);
  return NULL;
}

/* goOn(pool): called after the event loop has turned, which -2 asked for. */
static napi_value call_go_on(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  if (!get_arguments(env, info, 1, &arguments) || (pool = get_pool(env, arguments.values[0])) == NULL)
    return NULL;
  go_on(env, pool);
  return NULL;
}

/* setThreads(pool, threads) */
static napi_value change_threads(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double threads;
  if (!get_arguments(env, info, 2, &arguments) || (pool = get_pool(env, arguments.values[0])) == NULL)
    return NULL;
  if (!get_whole(env, arguments.values[1], MOST_THREADS, &threads)) return NULL;
  if (threads < 1) return nothing(throw_range(env, "expected at least 1 thread"));
  set_threads(pool, (uint32_t)threads);
  return NULL;
}

/*
 * counts(pool, Float64Array): threads, idle threads, threads left with an aborted item, and items under way.
 */
static napi_value counts(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double *numbers;
  size_t length;
  if (!get_arguments(env, info, 2, &arguments) || (pool = get_pool(env, arguments.values[0])) == NULL)
    return NULL;
  if (!get_numbers(env, arguments.values[1], &numbers, &length)) return NULL;
  if (length < 4) return nothing(throw_range(env, "expected room for 4 numbers"));
  pthread_mutex_lock(&pool->lock);
  numbers[0] = pool->alive;
  numbers[1] = pool->idle;
  numbers[2] = pool->left;
  pthread_mutex_unlock(&pool->lock);
  numbers[3] = pool->items;
  return NULL;
}

static napi_value live(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value count;
  napi_create_int32(env, live_objects, &count);
  return count;
}

/*
 * abort(pool, id): the job is told as ended as soon as nothing uses its memory. A job that has ended is left
 * alone.
 */
static napi_value abort_job(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct pool *pool;
  double id;
  if (!get_arguments(env, info, 2, &arguments) || (pool = get_pool(env, arguments.values[0])) == NULL)
    return NULL;
  if (!get_whole(env, arguments.values[1], MOST_WHOLE, &id)) return NULL;
  struct job *job = job_of(pool, id);
  if (job != NULL) abandon_job(pool, job);
  return NULL;
}

/* ---- the module ---- */

NAPI_MODULE_INIT() {
  if (!make_environment(env)) return NULL;
  const napi_property_descriptor functions[] = {
      {"open", NULL, open_pool, NULL, NULL, NULL, napi_enumerable, NULL},
      {"stop", NULL, stop, NULL, NULL, NULL, napi_enumerable, NULL},
      {"release", NULL, release, NULL, NULL, NULL, napi_enumerable, NULL},
      {"goOn", NULL, call_go_on, NULL, NULL, NULL, napi_enumerable, NULL},
      {"setThreads", NULL, change_threads, NULL, NULL, NULL, napi_enumerable, NULL},
      {"counts", NULL, counts, NULL, NULL, NULL, napi_enumerable, NULL},
      {"live", NULL, live, NULL, NULL, NULL, napi_enumerable, NULL},
      {"abort", NULL, abort_job, NULL, NULL, NULL, napi_enumerable, NULL},
      {"readFiles", NULL, read_files, NULL, NULL, NULL, napi_enumerable, NULL},
      {"readFile", NULL, read_file, NULL, NULL, NULL, napi_enumerable, NULL},
      {"readPiece", NULL, read_piece, NULL, NULL, NULL, napi_enumerable, NULL},
      {"openFile", NULL, open_file, NULL, NULL, NULL, napi_enumerable, NULL},
      {"readFileNow", NULL, read_file_now, NULL, NULL, NULL, napi_enumerable, NULL},
      {"writeFile", NULL, write_file, NULL, NULL, NULL, napi_enumerable, NULL},
      {"makeMemory", NULL, memory_make, NULL, NULL, NULL, napi_enumerable, NULL},
      {"mapMemory", NULL, memory_map, NULL, NULL, NULL, napi_enumerable, NULL},
      {"emptyMemory", NULL, memory_empty, NULL, NULL, NULL, napi_enumerable, NULL},
      {"detachMemory", NULL, memory_detach, NULL, NULL, NULL, napi_enumerable, NULL},
      {"giveDescriptor", NULL, descriptor_give, NULL, NULL, NULL, napi_enumerable, NULL},
      {"takeDescriptor", NULL, descriptor_take, NULL, NULL, NULL, napi_enumerable, NULL},
      {"connectTo", NULL, socket_connect, NULL, NULL, NULL, napi_enumerable, NULL},
      {"userBehind", NULL, socket_user, NULL, NULL, NULL, napi_enumerable, NULL},
      {"lockNumber", NULL, number_lock, NULL, NULL, NULL, napi_enumerable, NULL},
      {"isNumberLocked", NULL, number_is_locked, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions);
  return exports;
}
