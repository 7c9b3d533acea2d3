/*
 * A table is mapped when the library is loaded, or when the first file is opened, and again when the daemon has made another one.
 * Whoever sees that first maps it; everybody else reads the source meanwhile, and nobody waits. Tables that are outdated stay
 * mapped, because others may be looking into them: few, as each has room for twice as much as the one before.
 */
#include "session.h"
#include "real.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "TIERED_INTERPOSE"
#define MOST_TABLES 40

static struct table tables[MOST_TABLES];
/* How many were mapped, the last of which counts; and whether another is being mapped. */
static unsigned mapped;
static bool is_mapping;
static struct ring ring;
/* As the environment had it at first: programs change it, not always with care. Empty if there is no session. */
static char table_path[PATH_MAX];
static struct sockaddr_un address;

/* Whether the root is to this process what it is to the daemon. It may be in another mount namespace. */
static bool is_root_there(const struct table *table) {
  struct stat root;
  if (table->root_inode == 0) return true;
  if (real_stat(AT_FDCWD, table->root, 0, &root) < 0) return false;
  return root.st_dev == makedev(table->root_device >> 20, table->root_device & 0xfffff) && root.st_ino == table->root_inode;
}

static void map_next(void) {
  if (__atomic_exchange_n(&is_mapping, true, __ATOMIC_ACQUIRE)) return;
  unsigned next = __atomic_load_n(&mapped, __ATOMIC_RELAXED);
  if (next < MOST_TABLES && table_open(&tables[next], table_path)) {
    /* Still the old one, if the daemon ended. */
    if (table_is_outdated(&tables[next]) || !is_root_there(&tables[next])) table_close(&tables[next]);
    else __atomic_store_n(&mapped, next + 1, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&is_mapping, false, __ATOMIC_RELEASE);
}

/* Another thread may have been mapping when the process was forked, which this process does not have. */
static void after_fork(void) { __atomic_store_n(&is_mapping, false, __ATOMIC_RELEASE); }

static bool join(char *to, size_t size, const char *directory, const char *name) {
  if (strlen(directory) + strlen(name) + 2 > size) return false;
  stpcpy(stpcpy(stpcpy(to, directory), "/"), name);
  return true;
}

__attribute__((constructor)) static void begin(void) {
  int error = errno;
  const char *directory = getenv(VARIABLE);
  char path[PATH_MAX];
  address.sun_family = AF_UNIX;
  bool is_named = directory != NULL && directory[0] == '/' && join(path, sizeof path, directory, "ring") &&
                  join(address.sun_path, sizeof address.sun_path, directory, "socket");
  if (is_named && ring_open(&ring, path) && join(table_path, sizeof table_path, directory, "table")) {
    pthread_atfork(NULL, NULL, after_fork);
    map_next();
  }
  errno = error;
}

static const struct table *present(void) {
  unsigned count = __atomic_load_n(&mapped, __ATOMIC_ACQUIRE);
  return count > 0 && !table_is_outdated(&tables[count - 1]) ? &tables[count - 1] : NULL;
}

const struct table *session_table(void) {
  if (__atomic_load_n(&table_path[0], __ATOMIC_RELAXED) == '\0') return NULL;
  const struct table *table = present();
  if (table == NULL) {
    int error = errno;
    map_next();
    errno = error;
    table = present();
  }
  return table != NULL && table_is_live(table) ? table : NULL;
}

/* The daemon wakes up when somebody connects. If it cannot be reached it looks by itself before long. */
static void wake(void) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)connect(fd, (const struct sockaddr *)&address, sizeof address);
  close(fd);
}

void session_tell(const struct table *table, enum ring_kind kind, uint64_t slot) {
  int error = errno;
  if (ring_post(&ring, kind, table->generation, slot)) wake();
  errno = error;
}

void session_leave(void) { __atomic_store_n(&table_path[0], '\0', __ATOMIC_RELAXED); }
