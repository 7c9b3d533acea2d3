/* Questions to the daemon, over the socket of the session. */
#ifndef TIERED_ASK_H
#define TIERED_ASK_H

#include <limits.h>
#include <stddef.h>

/* What the answer means; the daemon's end is src/daemon/socket.ts. */
enum ask_kind {
  /* The answer is the path of a copy, which stays until the connection is closed. */
  ASK_FILE = 'o',
  /* The directory has the names of all its files. */
  ASK_DIRECTORY = 'd',
};

/*
 * Asks, and waits for the answer as long as the daemon lives. The connection, for the caller to close, and
 * the text of the answer; -1 with errno, which is EIO if the daemon does not answer. Safe in signal handlers,
 * and no point at which a thread may be cancelled.
 */
int ask(enum ask_kind kind, const char *key, size_t length, char answer[PATH_MAX]);

/* Lets go of what was asked for, also if a child was forked meanwhile, which has the connection too. */
void end_connection(int connection);

#endif
