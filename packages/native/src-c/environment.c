/*
 * Pools and jobs go by numbers, so that no object of JavaScript can be taken for one that it is not. A pool
 * that JavaScript forgot to release ends with its environment.
 */
#include "environment.h"
#include "arguments.h"
#include "posted.h"
#include "threads.h"
#include <stdlib.h>

/* Numbers that JavaScript is told in place of a job's. */
enum { THREADS = -1, TURN = -2 };

struct environment {
  struct pool *pools[MOST_POOLS];
};

/* ---- pools ---- */

static struct environment *environment_of(napi_env env) {
  void *environment = NULL;
  napi_get_instance_data(env, &environment);
  return environment;
}

struct pool *get_pool(napi_env env, napi_value value) {
  double id;
  struct environment *environment = environment_of(env);
  if (environment == NULL || !get_whole(env, value, MOST_POOLS - 1, &id)) return NULL;
  struct pool *pool = environment->pools[(size_t)id];
  if (pool == NULL) throw_range(env, "there is no such pool");
  return pool;
}

/* JavaScript is told nothing more of a job, and has its memory back. */
static void settle(napi_env env, struct pool *pool, struct job *job) {
  job->is_settled = true;
  if (job->previous == NULL) pool->under_way = job->next;
  else job->previous->next = job->next;
  if (job->next != NULL) job->next->previous = job->previous;
  pool->items -= job->count;
  /* A process may end while nothing is under way, and not before. */
  if (--pool->under_way_count == 0 && !pool->is_stopping_told)
    napi_unref_threadsafe_function(env, pool->wake_javascript);
  napi_delete_reference(env, job->keep);
  drop_job(pool, job);
}

/* The end of a pool for its environment; threads that still work on something end on their own. */
static void forget_pool(void *argument) {
  struct pool *pool = argument;
  napi_env env = pool->env;
  leave_environment(pool);
  while (pool->under_way != NULL) settle(env, pool, pool->under_way);
  napi_delete_reference(env, pool->deliver);
  struct environment *environment = environment_of(env);
  if (environment != NULL) environment->pools[pool->id] = NULL;
  drop_pool(pool);
}

/* ---- calls back ---- */

static void call_deliver(napi_env env, struct pool *pool, double id, uint32_t done, bool is_over) {
  napi_value deliver, nobody, error, arguments[3];
  if (napi_get_reference_value(env, pool->deliver, &deliver) != napi_ok) return;
  napi_get_undefined(env, &nobody);
  napi_create_double(env, id, &arguments[0]);
  napi_create_uint32(env, done, &arguments[1]);
  napi_get_boolean(env, is_over, &arguments[2]);
  if (napi_call_function(env, nobody, deliver, 3, arguments, NULL) != napi_pending_exception) return;
  if (napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
}

/* Asks JavaScript to call go_on in the next turn of the event loop. */
static void await_turn(napi_env env, struct pool *pool) {
  if (pool->awaits_turn) return;
  pool->awaits_turn = true;
  call_deliver(env, pool, TURN, 0, false);
}

static void tell_of_job(napi_env env, struct pool *pool, struct job *job, bool was_taken) {
  napi_value keep;
  bool is_over;
  if (job->is_settled) return;
  uint32_t done = progress_of(pool, job, was_taken, &is_over);
  if (!is_over && !job->has_progress) return;
  if (napi_get_reference_value(env, job->keep, &keep) == napi_ok)
    job->told = job->kind->deliver(env, job, keep, job->told, done);
  job->has_rest = job->told < done;
  if (job->has_rest) await_turn(env, pool);
  if (job->has_rest && !job->has_progress) return;
  /* Once it is settled, nobody may hold it any more. */
  double id = job->id;
  uint32_t told = job->told;
  bool has_ended = is_over && !job->has_rest;
  if (has_ended) settle(env, pool, job);
  call_deliver(env, pool, id, told, has_ended);
}

static struct job *job_with_rest(struct pool *pool) {
  struct job *job = pool->under_way;
  while (job != NULL && !job->has_rest) job = job->next;
  return job;
}

void go_on(napi_env env, struct pool *pool) {
  uint32_t id = pool->id;
  struct job *job;
  pool->awaits_turn = false;
  pool->copied = 0;
  hold_pool(pool);
  /* Looked up anew each time: the callback may release the pool. */
  while (environment_of(env)->pools[id] == pool && (job = job_with_rest(pool)) != NULL) {
    if (pool->copied >= COPIED_A_TURN) {
      await_turn(env, pool);
      break;
    }
    tell_of_job(env, pool, job, false);
  }
  drop_pool(pool);
}

static void on_wake(napi_env env, napi_value unused, void *context, void *data) {
  (void)unused;
  (void)data;
  /* The environment ends, or the pool was released. */
  if (env == NULL) return;
  struct pool *pool = context;
  hold_pool(pool);
  bool has_ended;
  for (struct job *job = take_posted(pool, &has_ended), *next; job != NULL; job = next) {
    napi_handle_scope scope;
    next = job->posted_after;
    napi_open_handle_scope(env, &scope);
    tell_of_job(env, pool, job, true);
    napi_close_handle_scope(env, scope);
    drop_job(pool, job);
  }
  bool is_here = environment_of(env)->pools[pool->id] == pool;
  if (is_here && has_ended) call_deliver(env, pool, THREADS, 0, true);
  drop_pool(pool);
}

struct job *job_of(struct pool *pool, double id) {
  struct job *job = pool->under_way;
  while (job != NULL && job->id != id) job = job->next;
  return job;
}

bool add_pool(napi_env env, struct pool *pool, napi_value deliver) {
  struct environment *environment = environment_of(env);
  while (pool->id < MOST_POOLS && environment->pools[pool->id] != NULL) pool->id++;
  if (pool->id == MOST_POOLS) return throw_range(env, "there are too many pools");
  napi_value name;
  napi_create_string_utf8(env, "tiered I/O", NAPI_AUTO_LENGTH, &name);
  pool->env = env;
  if (napi_create_reference(env, deliver, 1, &pool->deliver) != napi_ok)
    return throw_range(env, "there is no memory");
  if (napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, pool, on_wake,
                                      &pool->wake_javascript) != napi_ok) {
    napi_delete_reference(env, pool->deliver);
    return throw_range(env, "there is no memory");
  }
  napi_unref_threadsafe_function(env, pool->wake_javascript);
  /* After the threadsafe function has registered its own, so that this one is called before. */
  napi_add_env_cleanup_hook(env, forget_pool, pool);
  environment->pools[pool->id] = pool;
  return true;
}

void release_pool(struct pool *pool) {
  napi_env env = pool->env;
  napi_threadsafe_function wake = pool->wake_javascript;
  napi_remove_env_cleanup_hook(env, forget_pool, pool);
  forget_pool(pool);
  napi_release_threadsafe_function(wake, napi_tsfn_abort);
}

/* ---- jobs ---- */

static bool throw_busy(napi_env env, const char *code, const char *message) {
  napi_throw_error(env, code, message);
  return false;
}

static bool hand_over(napi_env env, struct pool *pool, struct job *job, napi_value keep) {
  if (job_of(pool, job->id) != NULL) return throw_range(env, "there is a job of this number");
  if (pool->is_stopping_told) return throw_range(env, "the pool ends");
  if (pool->items + job->count > MOST_ITEMS) return throw_busy(env, "EBUSY", "too much is under way");
  if (napi_create_reference(env, keep, 1, &job->keep) != napi_ok)
    return throw_range(env, "there is no memory");
  if (start_job(pool, job) != 0) {
    napi_delete_reference(env, job->keep);
    return throw_busy(env, "EAGAIN", "the system starts no thread");
  }
  job->next = pool->under_way;
  if (job->next != NULL) job->next->previous = job;
  pool->under_way = job;
  pool->items += job->count;
  if (pool->under_way_count++ == 0) napi_ref_threadsafe_function(env, pool->wake_javascript);
  return true;
}

/* Gives the job to the threads, or throws and destroys it. */
void submit(napi_env env, struct pool *pool, struct job *job, napi_value keep, bool is_ready) {
  if (!is_ready || !hand_over(env, pool, job, keep)) job->kind->destroy(job);
}

/* ---- the environment itself ---- */

static void free_environment(napi_env env, void *environment, void *hint) {
  (void)env;
  (void)hint;
  free(environment);
}

bool make_environment(napi_env env) {
  struct environment *environment = calloc(1, sizeof *environment);
  if (environment != NULL && napi_set_instance_data(env, environment, free_environment, NULL) == napi_ok)
    return true;
  free(environment);
  return throw_range(env, "there is no memory");
}
