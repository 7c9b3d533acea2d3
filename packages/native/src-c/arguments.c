#include "arguments.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Text and arrays that are longer are a mistake. */
#define MOST_TEXT (256.0 * 1024 * 1024)
#define MOST_ELEMENTS 131072

bool throw_type(napi_env env, const char *message) {
  napi_throw_type_error(env, NULL, message);
  return false;
}

bool throw_range(napi_env env, const char *message) {
  napi_throw_range_error(env, NULL, message);
  return false;
}

napi_value nothing(bool thrown) {
  (void)thrown;
  return NULL;
}

bool get_arguments(napi_env env, napi_callback_info info, size_t count, struct arguments *arguments) {
  arguments->count = MOST_ARGUMENTS;
  if (napi_get_cb_info(env, info, &arguments->count, arguments->values, NULL, NULL) != napi_ok) return false;
  return arguments->count >= count || throw_type(env, "expected more arguments");
}

bool is_whole(double number, double most) { return number >= 0 && number <= most && number == floor(number); }

bool get_whole(napi_env env, napi_value value, double most, double *number) {
  if (napi_get_value_double(env, value, number) != napi_ok) return throw_type(env, "expected a number");
  return is_whole(*number, most) ||
         throw_range(env, "expected a whole number of at least 0 that is not too large");
}

bool get_flag(napi_env env, napi_value value, bool *flag) {
  return napi_get_value_bool(env, value, flag) == napi_ok || throw_type(env, "expected a boolean");
}

bool get_text(napi_env env, napi_value value, char **text, size_t *length) {
  if (napi_get_value_string_utf8(env, value, NULL, 0, length) != napi_ok)
    return throw_type(env, "expected a string");
  if ((double)*length > MOST_TEXT) return throw_range(env, "the text is too long");
  *text = malloc(*length + 1);
  if (*text == NULL) return throw_range(env, "there is no memory for the text");
  if (napi_get_value_string_utf8(env, value, *text, *length + 1, length) == napi_ok) return true;
  free(*text);
  return throw_type(env, "expected a string");
}

bool get_numbers(napi_env env, napi_value value, double **numbers, size_t *length) {
  napi_typedarray_type type;
  bool is_typed = false;
  void *data;
  napi_is_typedarray(env, value, &is_typed);
  if (!is_typed || napi_get_typedarray_info(env, value, &type, length, &data, NULL, NULL) != napi_ok ||
      type != napi_float64_array)
    return throw_type(env, "expected a Float64Array");
  *numbers = data;
  return true;
}

bool get_array(napi_env env, napi_value value, uint32_t least, napi_value *copy, uint32_t *length) {
  bool is_array = false;
  napi_value element;
  napi_is_array(env, value, &is_array);
  if (!is_array) return throw_type(env, "expected an array");
  if (napi_get_array_length(env, value, length) != napi_ok) return throw_type(env, "expected an array");
  if (*length < least || *length > MOST_ELEMENTS)
    return throw_range(env, "the array has too few or too many elements");
  if (napi_create_array_with_length(env, *length, copy) != napi_ok)
    return throw_range(env, "there is no memory");
  for (uint32_t i = 0; i < *length; i++)
    if (napi_get_element(env, value, i, &element) != napi_ok ||
        napi_set_element(env, *copy, i, element) != napi_ok)
      return throw_type(env, "an element of the array cannot be read");
  return true;
}

bool get_memory_at(napi_env env, napi_value array, uint32_t index, struct memory *memory) {
  napi_value view;
  bool is_there = napi_get_element(env, array, index, &view) == napi_ok && get_memory(env, view, memory);
  return is_there || throw_type(env, "expected a Uint8Array that is not detached");
}

char *next_text(char **at, const char *end) {
  if (*at == NULL) return NULL;
  char *text = *at;
  char *stop = text + strlen(text);
  *at = stop == end ? NULL : stop + 1;
  return text;
}
