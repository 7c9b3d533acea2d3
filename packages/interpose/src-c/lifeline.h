/* How a program that begins knows that the daemon is there. */
#ifndef TIERED_LIFELINE_H
#define TIERED_LIFELINE_H

#include <stdbool.h>

/* Whether the daemon has its lock on a file. Changes errno. No point at which a thread may be cancelled. */
bool lifeline_holds(const char *path);

#endif
