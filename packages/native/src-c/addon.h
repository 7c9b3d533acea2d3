/* Functions of the addon for reads, writes, shared memory and locks. */
#ifndef TIERED_ADDON_H
#define TIERED_ADDON_H

#include <node_api.h>

napi_value read_files(napi_env env, napi_callback_info info);
napi_value read_file(napi_env env, napi_callback_info info);
napi_value read_piece(napi_env env, napi_callback_info info);
napi_value open_file(napi_env env, napi_callback_info info);
napi_value read_file_now(napi_env env, napi_callback_info info);
napi_value write_file(napi_env env, napi_callback_info info);

napi_value memory_make(napi_env env, napi_callback_info info);
napi_value memory_map(napi_env env, napi_callback_info info);
napi_value memory_empty(napi_env env, napi_callback_info info);
napi_value memory_detach(napi_env env, napi_callback_info info);
napi_value descriptor_give(napi_env env, napi_callback_info info);
napi_value descriptor_take(napi_env env, napi_callback_info info);
napi_value socket_connect(napi_env env, napi_callback_info info);
napi_value socket_user(napi_env env, napi_callback_info info);

napi_value number_lock(napi_env env, napi_callback_info info);
napi_value number_is_locked(napi_env env, napi_callback_info info);

#endif
