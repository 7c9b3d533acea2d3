/*
 * Memory of JavaScript that threads read or write.
 *
 * A SharedArrayBuffer stays where it is as long as somebody holds it, so threads use it directly. An
 * ArrayBuffer may be transferred or made smaller at any time, which frees its memory under a thread: threads
 * never see one, unless its lender promises that it stays. Reads go to memory of our own, from which the
 * environment's thread copies if the buffer is still there. Bytes to write are copied before.
 */
#ifndef TIERED_MEMORY_H
#define TIERED_MEMORY_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
  uint8_t *data;
  size_t length;
  bool is_shared;
  /* Whether it stays where it is, as shared memory does. */
  bool is_fixed;
};

/* A range of one of the memories of a job. */
struct range {
  uint32_t memory;
  size_t offset, length;
};

/* The memory behind a Uint8Array; false if it is something else, or detached. */
bool get_memory(napi_env env, napi_value view, struct memory *memory);
/* Whether a range lies in a memory, without overflow. */
bool is_within(const struct memory *memory, double offset, double length);

#endif
