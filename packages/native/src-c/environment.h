/*
 * An instance of the addon in an environment of Node: the main one, or that of a worker thread. All of this
 * runs in its thread.
 */
#ifndef TIERED_ENVIRONMENT_H
#define TIERED_ENVIRONMENT_H

#include "pool.h"
#include <node_api.h>
#include <stdbool.h>

#define MOST_POOLS 4096
/* Items that wait or are worked on. */
#define MOST_ITEMS 65536

bool make_environment(napi_env env);
/* The pool of a number; NULL if there is none, and thrown. */
struct pool *get_pool(napi_env env, napi_value id);
/* Gives a pool a number; false, and thrown, if that cannot be. */
bool add_pool(napi_env env, struct pool *pool, napi_value deliver);
/* Ends a pool for the environment, with all that it still had to do. */
void release_pool(struct pool *pool);
/* Tells JavaScript the rest, after the event loop has turned. */
void go_on(napi_env env, struct pool *pool);
/* The job of a number, as long as it is under way; NULL if there is none. */
struct job *job_of(struct pool *pool, double id);
/* Gives a job to the threads if it is ready. Else, or if that fails, which is thrown, destroys it. */
void submit(napi_env env, struct pool *pool, struct job *job, napi_value keep, bool is_ready);

#endif
