/*
 * The problem: copies belong to the user of the daemon, and may be readable by more users (`readableBy`) than
 * the source's files and the directories above them. A program of another user finds no session. But a
 * program that gives up its user, as servers that begin as root do, has the table mapped.
 *
 * Only the kernel knows which files of the source it may read, and would have to be asked about each. So the
 * program reads the source from then on. Objects below an imaginary root are readable by everyone, and stat
 * says so.
 */
#include "real.h"
#include "session.h"
#include <errno.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static uid_t user;
static gid_t group;

__attribute__((constructor)) static void begin(void) {
  user = geteuid();
  group = getegid();
}

/* The process may read less than before, or may not: there is no telling. */
static void end_if(bool is_another) {
  int error = errno;
  if (is_another && !session_is_imaginary) session_end();
  errno = error;
}

/* Many programs become what they are already. */
static void end_if_another(void) { end_if(geteuid() != user || getegid() != group); }

/* A function that makes the process somebody else, and what follows where it has worked. */
#define BECOMES(type, name, parameters, arguments, follows)                                        \
  static void *next_##name;                                                                        \
  __attribute__((constructor)) static void find_##name(void) { real_symbol(&next_##name, #name); } \
  EXPORT type name parameters {                                                                    \
    type result = ((type(*) parameters)real_symbol(&next_##name, #name))arguments;                 \
    follows;                                                                                       \
    return result;                                                                                 \
  }

BECOMES(int, setuid, (uid_t id), (id), end_if_another())
BECOMES(int, seteuid, (uid_t id), (id), end_if_another())
BECOMES(int, setreuid, (uid_t real, uid_t id), (real, id), end_if_another())
BECOMES(int, setresuid, (uid_t real, uid_t id, uid_t saved), (real, id, saved), end_if_another())
BECOMES(int, setgid, (gid_t id), (id), end_if_another())
BECOMES(int, setegid, (gid_t id), (id), end_if_another())
BECOMES(int, setregid, (gid_t real, gid_t id), (real, id), end_if_another())
BECOMES(int, setresgid, (gid_t real, gid_t id, gid_t saved), (real, id, saved), end_if_another())
/* The result is the former id, also if it has not changed. The id -1 asks for it. */
BECOMES(int, setfsuid, (uid_t id), (id), end_if(id != user && id != (uid_t)-1))
BECOMES(int, setfsgid, (gid_t id), (id), end_if(id != group && id != (gid_t)-1))
BECOMES(int, setgroups, (size_t count, const gid_t *ids), (count, ids), end_if(result == 0))
BECOMES(int, initgroups, (const char *name, gid_t id), (name, id), end_if(result == 0))

/* Of the kernel's, which the library does not declare. */
int capset(void *header, void *data);
BECOMES(int, capset, (void *header, void *data), (header, data), end_if(result == 0))
