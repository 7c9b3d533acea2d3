/*
 * Checks of arguments from JavaScript. Each throws a TypeError or a RangeError for a wrong one, and returns
 * false.
 */
#ifndef TIERED_ARGUMENTS_H
#define TIERED_ARGUMENTS_H

#include "memory.h"
#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>

#define MOST_ARGUMENTS 8
/* The largest safe integer of JavaScript. */
#define MOST_WHOLE 9007199254740991.0

struct arguments {
  size_t count;
  napi_value values[MOST_ARGUMENTS];
};

bool throw_type(napi_env env, const char *message);
bool throw_range(napi_env env, const char *message);
/* The result of a function that threw. */
napi_value nothing(bool thrown);
bool get_arguments(napi_env env, napi_callback_info info, size_t count, struct arguments *arguments);
/* A whole number from 0 to `most`. */
bool get_whole(napi_env env, napi_value value, double most, double *number);
bool get_flag(napi_env env, napi_value value, bool *flag);
bool is_whole(double number, double most);
/* UTF-8 to be freed; its length without the NUL at its end. */
bool get_text(napi_env env, napi_value value, char **text, size_t *length);
/* The numbers of a Float64Array, which stay there until JavaScript runs. */
bool get_numbers(napi_env env, napi_value value, double **numbers, size_t *length);
/* A copy of an array that JavaScript cannot change any more. */
bool get_array(napi_env env, napi_value value, uint32_t least, napi_value *copy, uint32_t *length);
bool get_memory_at(napi_env env, napi_value array, uint32_t index, struct memory *memory);
/* The next of texts with NUL between; NULL if there is none. */
char *next_text(char **at, const char *end);

#endif
