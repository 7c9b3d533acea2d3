/* Functions of the addon that share memory with other processes. */
#include "addon.h"
#include "arguments.h"
#include "live-objects.h"
#include "shared-memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static napi_value number(napi_env env, double value) {
  napi_value result;
  napi_create_double(env, value, &result);
  return result;
}

static bool get_descriptor(napi_env env, napi_value value, int *fd) {
  double number;
  if (!get_whole(env, value, INT32_MAX, &number)) return false;
  *fd = (int)number;
  return true;
}

static bool get_length(napi_env env, napi_value value, size_t *length) {
  double number;
  if (!get_whole(env, value, MOST_SHARED, &number)) return false;
  *length = (size_t)number;
  return *length > 0 || throw_range(env, "expected at least 1 byte");
}

/* makeMemory(bytes): a descriptor. */
napi_value memory_make(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  size_t length;
  if (!get_arguments(env, info, 1, &arguments) || !get_length(env, arguments.values[0], &length)) return NULL;
  return number(env, make_memory(length));
}

static void unmap(napi_env env, void *address, void *length) {
  (void)env;
  munmap(address, (size_t)length);
  live_objects--;
}

/* mapMemory(fd, bytes): an ArrayBuffer, which is mapped as long as anything uses it. */
napi_value memory_map(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  int fd;
  size_t length;
  void *address;
  napi_value buffer;
  if (!get_arguments(env, info, 2, &arguments)) return NULL;
  if (!get_descriptor(env, arguments.values[0], &fd) || !get_length(env, arguments.values[1], &length))
    return NULL;
  int error = map_memory(fd, length, &address);
  if (error != 0) return number(env, error);
  live_objects++;
  /* Threads are never given an ArrayBuffer, so its own thread may unmap it. */
  if (napi_create_external_arraybuffer(env, address, length, unmap, (void *)length, &buffer) == napi_ok)
    return buffer;
  unmap(env, address, (void *)length);
  return number(env, -EOPNOTSUPP);
}

static bool get_buffer(napi_env env, napi_callback_info info, napi_value *buffer, void **data,
                       size_t *length) {
  struct arguments arguments;
  bool is_buffer = false;
  if (!get_arguments(env, info, 1, &arguments)) return false;
  *buffer = arguments.values[0];
  napi_is_arraybuffer(env, *buffer, &is_buffer);
  if (is_buffer && napi_get_arraybuffer_info(env, *buffer, data, length) == napi_ok) return true;
  return throw_type(env, "expected an ArrayBuffer");
}

/* emptyMemory(buffer) */
napi_value memory_empty(napi_env env, napi_callback_info info) {
  napi_value buffer;
  void *data;
  size_t length;
  if (!get_buffer(env, info, &buffer, &data, &length)) return NULL;
  return number(env, length == 0 ? 0 : empty_memory(data, length));
}

/* detachMemory(buffer): it is unmapped soon. */
napi_value memory_detach(napi_env env, napi_callback_info info) {
  napi_value buffer;
  void *data;
  size_t length;
  if (get_buffer(env, info, &buffer, &data, &length)) napi_detach_arraybuffer(env, buffer);
  return NULL;
}

/* giveDescriptor(socket, fd) */
napi_value descriptor_give(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  int socket, fd;
  if (!get_arguments(env, info, 2, &arguments)) return NULL;
  if (!get_descriptor(env, arguments.values[0], &socket) || !get_descriptor(env, arguments.values[1], &fd))
    return NULL;
  return number(env, give_descriptor(socket, fd));
}

/* takeDescriptor(socket) */
napi_value descriptor_take(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  int socket;
  if (!get_arguments(env, info, 1, &arguments) || !get_descriptor(env, arguments.values[0], &socket))
    return NULL;
  return number(env, take_descriptor(socket));
}

/* connectTo(path, greeting): a descriptor. */
napi_value socket_connect(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct memory greeting;
  char *path;
  size_t length;
  if (!get_arguments(env, info, 2, &arguments)) return NULL;
  if (!get_memory(env, arguments.values[1], &greeting))
    return nothing(throw_type(env, "expected a Uint8Array that is not detached"));
  if (!get_text(env, arguments.values[0], &path, &length)) return NULL;
  /* The system ignores all behind a NUL, and takes an empty path for another kind of address. */
  napi_value fd = NULL;
  if (length == 0 || strlen(path) != length) throw_type(env, "expected a path");
  else fd = number(env, connect_to(path, greeting.data, greeting.length));
  free(path);
  return fd;
}

/* userBehind(socket) */
napi_value socket_user(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  int socket;
  if (!get_arguments(env, info, 1, &arguments) || !get_descriptor(env, arguments.values[0], &socket))
    return NULL;
  return number(env, (double)user_behind(socket));
}
