/*
 * A table is mapped when the library is loaded, or when the first file is opened, and again after the daemon
 * has made another one, or another daemon has taken its place. The first thread that notices maps it. All
 * others read the source meanwhile, and none waits. Outdated tables stay mapped, because other threads may be
 * looking into them: few, as each has room for a quarter more than the one before. Each comes with the ring
 * of its daemon.
 */
#include "session.h"
#include "real.h"
#include "roots.h"
#include "tier-directories.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "TIERED_INTERPOSE"
#define MOST_TABLES 40
#define RETRY_MS 250
/* Between two looks at what is mounted: each takes some 10 us. */
#define LOOK_MS 250
/* The bytes that SQLite locks, as its file format says. */
#define LOCK_FIRST 0x40000000
#define LOCK_LENGTH 512

static struct table tables[MOST_TABLES];
static struct ring rings[MOST_TABLES];
/* How many were mapped, the last of which counts; and whether another is being mapped. */
static unsigned mapped;
const struct table *session_last;
static bool is_mapping;
bool session_is_imaginary, session_is_confined;
/*
 * As the environment had it at first: programs change it, not always with care. Empty if there is no session.
 */
static char table_path[PATH_MAX], ring_path[PATH_MAX], lifeline_path[PATH_MAX];
static struct sockaddr_un address;

static pid_t owner;
/* Not before this is another attempt made to map a table, in milliseconds. */
static uint64_t next_attempt;
/* Before this, what is mounted is not looked at again. */
static uint64_t next_look;

/*
 * Whether the daemon lives, by a lock that it holds, and that the kernel lets go with it. A table of a daemon
 * that was killed looks as before, and a time in it says little: a program in another time namespace, or
 * under a library that shows other times, has another clock. The lock is looked for once, when a table is
 * mapped. From then on, the daemon's clock is compared with the program's (table.c). That costs nothing, and
 * shows a daemon that was stopped as well. Changes errno. No point at which a thread may be cancelled.
 */
static bool lifeline_holds(const char *path) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_FIRST, .l_len = LOCK_LENGTH};
  bool holds = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  real_close(fd);
  return holds;
}

static bool map_at(unsigned at) {
  if (!table_open(&tables[at], table_path)) return false;
  if (!lifeline_holds(lifeline_path)) table_take_for_dead(&tables[at]);
  /* It is still the old one, if the daemon ended. */
  if (!table_is_outdated(&tables[at]) && ring_open(&rings[at], ring_path)) {
    bool is_ours = roots_look(&tables[at]);
    ring_note(&rings[at], is_ours ? RING_BEGAN : RING_ELSEWHERE);
    if (is_ours) return true;
    ring_close(&rings[at]);
  }
  table_close(&tables[at]);
  return false;
}

/* Maps the present table. A thread that comes meanwhile, or soon after a failure, goes on without. */
static void map_next(void) {
  uint64_t now = table_now();
  /* A child of vfork has the memory of its parent, but not its descriptors. */
  if (getpid() != owner) return;
  if (now < __atomic_load_n(&next_attempt, __ATOMIC_RELAXED) ||
      __atomic_exchange_n(&is_mapping, true, __ATOMIC_ACQUIRE))
    return;
  /* A thread that was cancelled here would keep everybody else from it. */
  int cancel_state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  unsigned next = mapped;
  bool is_mapped = next < MOST_TABLES && map_at(next);
  if (is_mapped) {
    if (tables[next].is_imaginary) __atomic_store_n(&session_is_imaginary, true, __ATOMIC_RELAXED);
    if (next > 0) ring_pass_on(&rings[next - 1], &rings[next]);
    open_tiers(&tables[next]);
    mapped = next + 1;
    __atomic_store_n(&session_last, &tables[next], __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(&next_attempt, now + RETRY_MS, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&is_mapping, false, __ATOMIC_RELEASE);
  pthread_setcancelstate(cancel_state, NULL);
}

/* Another thread may have been mapping when the process was forked, which this process does not have. */
static void after_fork(void) {
  owner = getpid();
  __atomic_store_n(&is_mapping, false, __ATOMIC_RELEASE);
  session_expect_mounts();
}

static bool join(char *to, size_t size, const char *directory, const char *name) {
  if (strlen(directory) + strlen(name) + 2 > size) return false;
  stpcpy(stpcpy(stpcpy(to, directory), "/"), name);
  return true;
}

__attribute__((constructor)) static void begin(void) {
  int error = errno;
  owner = getpid();
  const char *directory = getenv(VARIABLE);
  address.sun_family = AF_UNIX;
  bool is_named = real_is_glibc() && directory != NULL && directory[0] == '/' &&
                  join(ring_path, sizeof ring_path, directory, "ring") &&
                  join(lifeline_path, sizeof lifeline_path, directory, "lifeline") &&
                  join(address.sun_path, sizeof address.sun_path, directory, "socket");
  if (is_named && join(table_path, sizeof table_path, directory, "table")) {
    real_atfork(after_fork);
    map_next();
  }
  errno = error;
}

void session_expect_mounts(void) { __atomic_store_n(&next_look, 0, __ATOMIC_RELAXED); }

/* One thread looks; others go on with what was so a moment ago. */
__attribute__((noinline)) static bool look_at_mounts(const struct table *table, uint64_t now) {
  if (table->root_inode == 0 || __atomic_exchange_n(&is_mapping, true, __ATOMIC_ACQUIRE)) return true;
  __atomic_store_n(&next_look, now + LOOK_MS, __ATOMIC_RELAXED);
  int error = errno;
  bool is_same = roots_look_again(&tables[table - tables]);
  /* Also if that could not be told: whoever comes next looks again. */
  if (!is_same) session_expect_mounts();
  __atomic_store_n(&is_mapping, false, __ATOMIC_RELEASE);
  errno = error;
  return is_same;
}

bool session_believes(const struct table *table) {
  if (!table_is_live(table)) return false;
  uint64_t now = table_now();
  return now < __atomic_load_n(&next_look, __ATOMIC_RELAXED) || look_at_mounts(table, now);
}

const struct table *session_look(void) {
  if (table_path[0] == '\0') return NULL;
  int error = errno;
  map_next();
  errno = error;
  const struct table *table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  return table != NULL && !table_is_outdated(table) ? table : NULL;
}

const struct table *session_imaginary_table(void) {
  const struct table *table = session_table();
  if (table == NULL) table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  return table != NULL && table->is_imaginary ? table : NULL;
}

void session_end(void) {
  const struct table *table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  if (table != NULL) ring_note(session_ring(table), RING_ENDED);
  table_path[0] = '\0';
  __atomic_store_n(&session_last, NULL, __ATOMIC_RELEASE);
  session_is_imaginary = false;
  close_tiers();
}

void session_confine(void) {
  if (table_path[0] == '\0') return;
  if (!session_is_imaginary) session_end();
  __atomic_store_n(&session_is_confined, true, __ATOMIC_RELEASE);
}

void session_tell(const struct table *table, enum ring_kind kind, uint64_t slot) {
  ring_post(&rings[table - tables], kind, table->generation, slot);
}

const struct ring *session_ring(const struct table *table) { return &rings[table - tables]; }

const void *session_address(size_t *size) {
  *size = sizeof address;
  return &address;
}
