/* What makes it slow. These block whoever calls them, and overlap. */
#ifndef SLOW_FS_DELAYS_H
#define SLOW_FS_DELAYS_H

#include <stddef.h>

/* Most milliseconds that are added to each wait, and bytes a second that all transfers share; 0 for none. */
extern double jitter_ms, bytes_per_second;

/* Waits so long, if at all, and for the jitter. */
void wait_ms(double ms);
/* Waits until so many bytes would have come. */
void transfer(size_t bytes);

#endif
