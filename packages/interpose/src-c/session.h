/*
 * The memory and files that this process shares with the daemon: a directory with a table, a ring and a
 * socket, which the environment names.
 */
#ifndef TIERED_SESSION_H
#define TIERED_SESSION_H

#include "ring.h"
#include "table.h"

/* The last table that was mapped, which stays mapped also if its daemon ends; NULL before the first. */
extern const struct table *session_last;
/* Looks for another one. */
const struct table *session_look(void);
/*
 * The table that counts, whose daemon may be dead; NULL if there is none. Safe in signal handlers and in
 * children of fork and vfork.
 */
static inline const struct table *session_table(void) {
  const struct table *table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  return table != NULL && !table_is_outdated(table) ? table : session_look();
}
/*
 * Whether what a table says may be believed: its daemon lives, and what is mounted in front of the source's
 * files, which is looked at now and then, is what it was. Keeps errno. Never waits.
 */
bool session_believes(const struct table *table);
/* This process may have mounted something. */
void session_expect_mounts(void);
/* Whether a table has a root that need not be there. */
extern bool session_is_imaginary;
/*
 * A table of such a root: also the last one while the next is being mapped, as nobody else knows its files.
 */
const struct table *session_imaginary_table(void);
/* No path means what it meant: everything is the kernel's from now on. */
void session_end(void);
/*
 * This process may be killed for calls of the kernel that it does not make itself: its session ends, unless
 * nobody else knows the files of its root, and what is open is left as it is.
 */
void session_confine(void);
extern bool session_is_confined;
/* Tells the daemon which file was opened. Never waits. Keeps errno. */
void session_tell(const struct table *table, enum ring_kind kind, uint64_t slot);
/* The ring of the daemon of a table. */
const struct ring *session_ring(const struct table *table);
/* The address of the daemon, and its size. */
const void *session_address(size_t *size);

#endif
