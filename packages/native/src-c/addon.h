/* The functions that give jobs away. */
#ifndef TIERED_ADDON_H
#define TIERED_ADDON_H

#include <node_api.h>

napi_value read_files(napi_env env, napi_callback_info info);
napi_value read_piece(napi_env env, napi_callback_info info);
napi_value open_file(napi_env env, napi_callback_info info);
napi_value try_read(napi_env env, napi_callback_info info);
napi_value write_file(napi_env env, napi_callback_info info);

#endif
