#include "memory.h"

bool get_memory(napi_env env, napi_value view, struct memory *memory) {
  napi_typedarray_type type;
  napi_value buffer;
  void *data;
  size_t length;
  bool is_typed = false, is_array_buffer, is_detached;
  if (napi_is_typedarray(env, view, &is_typed) != napi_ok || !is_typed) return false;
  if (napi_get_typedarray_info(env, view, &type, &length, &data, &buffer, NULL) != napi_ok) return false;
  if (type != napi_uint8_array && type != napi_uint8_clamped_array) return false;
  if (napi_is_arraybuffer(env, buffer, &is_array_buffer) != napi_ok) return false;
  if (is_array_buffer && (napi_is_detached_arraybuffer(env, buffer, &is_detached) != napi_ok || is_detached))
    return false;
  *memory = (struct memory){
      .data = data, .length = length, .is_shared = !is_array_buffer, .is_fixed = !is_array_buffer};
  return true;
}

bool is_within(const struct memory *memory, double offset, double length) {
  double room = (double)memory->length;
  return offset <= room && length <= room - offset;
}
