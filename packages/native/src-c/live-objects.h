#ifndef TIERED_LIVE_OBJECTS_H
#define TIERED_LIVE_OBJECTS_H

#include <stdatomic.h>

/* Jobs, pools, threads and mappings that exist, in the whole process: 0 when nothing leaks. */
extern atomic_int live_objects;

#endif
