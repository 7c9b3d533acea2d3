/* Whether the paths of the root still lead where the daemon says. */
#ifndef TIERED_ROOTS_H
#define TIERED_ROOTS_H

#include "table.h"

/*
 * Notes which paths lead this process to the daemon's root, with the same mounted below it as the daemon
 * sees. False if none does. By one thread at a time, and no point at which it may be cancelled. Changes
 * errno.
 */
bool roots_look(struct table *table);
/*
 * The same, if something was mounted or taken away since the last look, or the daemon sees other mounts.
 * False if that has changed which paths lead there, or if it cannot be told: who opens a file just now opens
 * it in the source.
 */
bool roots_look_again(struct table *table);

#endif
