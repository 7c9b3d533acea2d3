/*
 * A program that keeps a file open, as h5py does, would read it in the source until it closes it. So its
 * descriptor gets a twin: another descriptor, of the copy, as soon as there is one. Reads that name an offset
 * go to the twin. Everything else stays with the program's descriptor, which is always the source's file: its
 * offset, its locks, its mode, its duplicates, its mappings. So nothing has to be taken back, and no program
 * can see a difference.
 *
 * The danger is that numbers are used again. Descriptors are closed unseen: by `fclose`, by `close_range`, by
 * the kernel. So before each read by a twin, two system calls that wait for no server identify both
 * descriptors. A twin of another file is not read, and not closed.
 *
 * Invariants:
 * - A twin is read only while the program's descriptor is one of the file whose copy it is, and that was not
 *   written since.
 * - A twin is closed only after the program's descriptor was closed, as another thread may be reading from
 * it.
 * - Only one thread changes an entry, the one that made it BUSY. No thread waits: all others read the source
 *   meanwhile.
 * - A process that has confined itself neither reads by twins nor closes them, as it may be killed for these
 *   calls.
 * - After vfork, parent and child share this memory, but not the descriptors: the child opens and closes no
 *   twin.
 */
#include "twins.h"
#include "descriptors.h"
#include "own-descriptors.h"
#include "real.h"
#include "redirect.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Descriptors from 1024 on get none. */
#define MOST_WATCHED 1024
/* Half of what own-descriptors.c has numbers for. */
#define MOST_TWINS 128

enum state { NONE, WATCHED, TWIN, FAILED, BUSY };

static struct entry {
  uint32_t state;
  int twin;
  const struct table *table;
  uint64_t slot;
  struct identity file, copy;
} entries[MOST_WATCHED];

static unsigned twins;
static pid_t owner;

static void belongs_here(void) { owner = getpid(); }

__attribute__((constructor)) static void begin(void) {
  belongs_here();
  real_atfork(belongs_here);
}

static struct entry *entry_of(int fd) { return fd >= 0 && fd < MOST_WATCHED ? &entries[fd] : NULL; }

static uint32_t state_of(const struct entry *entry) {
  return __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct entry *entry, enum state state) {
  __atomic_store_n(&entry->state, state, __ATOMIC_RELEASE);
}

static bool take(struct entry *entry, uint32_t state) {
  return __atomic_compare_exchange_n(&entry->state, &state, BUSY, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void twin_watch(int fd, const struct table *table, uint64_t slot) {
  struct entry *entry = entry_of(fd);
  if (entry == NULL || state_of(entry) != NONE) return;
  mark(fd, MARK_TWIN);
  /* Nobody else knows of this file yet, so the entry need not be taken. */
  entry->table = table;
  entry->slot = slot;
  set_state(entry, WATCHED);
}

void twin_forget_marked(int fd) {
  struct entry *entry = entry_of(fd);
  uint32_t state = entry == NULL ? NONE : state_of(entry);
  if (state == NONE || state == BUSY || (state != WATCHED && getpid() != owner) || !take(entry, state))
    return;
  if (state != WATCHED) {
    int error = errno;
    own_close(entry->twin, &entry->copy);
    __atomic_fetch_sub(&twins, 1, __ATOMIC_RELAXED);
    errno = error;
  }
  unmark(fd, MARK_TWIN);
  set_state(entry, NONE);
}

/*
 * Whether the table does not speak of another file, that came to the same path. It knows the inode once a
 * copy was opened.
 */
static bool may_be_file_of(const struct entry *entry) {
  struct table_source source;
  table_source_of(entry->table, entry->slot, &source);
  const struct identity *file = &entry->file;
  uint32_t device = (file->major & 0xfff) << 20 | (file->minor & 0xfffff);
  bool is_same = source.inode == file->inode && source.device == device && source.modified == file->modified;
  return source.size == file->size && (source.mode == 0 || is_same);
}

/* Opens the copy. Not a part of its callers, for the room that it takes on the stack. */
__attribute__((noinline)) static bool open_twin(int fd, struct entry *entry) {
  char path[MOST_ROOM];
  struct redirection redirection;
  if (!identify(fd, &entry->file) || !may_be_file_of(entry) || path_of_descriptor(fd, path, sizeof path) == 0)
    return false;
  if (!redirect(AT_FDCWD, path, 0, &redirection) || redirection.table != entry->table ||
      redirection.slot != entry->slot)
    return false;
  entry->twin =
      redirection.copy_length == 0 ? -1 : own_open(redirection.copy, O_RDONLY | O_NOFOLLOW, &entry->copy);
  if (entry->twin < 0) return false;
  if (entry->copy.size == entry->file.size) return true;
  own_close(entry->twin, &entry->copy);
  return false;
}

/*
 * There is a copy now. If it cannot be opened, the source is read for good, unless it is only another thread
 * that is in the way.
 */
static int begin_twin(int fd, struct entry *entry) {
  if (__atomic_load_n(&twins, __ATOMIC_RELAXED) >= MOST_TWINS || getpid() != owner || !take(entry, WATCHED))
    return -1;
  int error = errno;
  errno = 0;
  bool is_open = open_twin(fd, entry);
  bool is_watched = !is_open && errno == EAGAIN;
  if (is_open) __atomic_fetch_add(&twins, 1, __ATOMIC_RELAXED);
  else if (!is_watched) unmark(fd, MARK_TWIN);
  set_state(entry, is_open ? TWIN : is_watched ? WATCHED : NONE);
  errno = error;
  return is_open ? entry->twin : -1;
}

/* Tables that are outdated say nothing new. False if there is none that does, or nothing of this file. */
__attribute__((noinline)) static bool watch_elsewhere(int fd, struct entry *entry) {
  const struct table *table = session_table();
  if (table == NULL || !take(entry, WATCHED)) return false;
  int error = errno;
  char path[MOST_ROOM];
  struct redirection redirection;
  bool is_found = path_of_descriptor(fd, path, sizeof path) > 0 && redirect(AT_FDCWD, path, 0, &redirection);
  if (is_found) {
    entry->table = redirection.table;
    entry->slot = redirection.slot;
  } else {
    unmark(fd, MARK_TWIN);
  }
  set_state(entry, is_found ? WATCHED : NONE);
  errno = error;
  return is_found;
}

static bool watch_in_present_table(int fd, struct entry *entry) {
  return !table_is_outdated(entry->table) || watch_elsewhere(fd, entry);
}

static int checked_twin(int fd, const struct entry *entry) {
  int error = errno;
  bool is_whole = is_open_for(fd, &entry->file) && is_open_for(entry->twin, &entry->copy);
  errno = error;
  return is_whole ? entry->twin : -1;
}

int twin_of_marked(int fd) {
  struct entry *entry = entry_of(fd);
  uint32_t state = entry == NULL ? NONE : state_of(entry);
  if (state == WATCHED && !watch_in_present_table(fd, entry)) return -1;
  if (state == WATCHED) return table_has_copy(entry->table, entry->slot) ? begin_twin(fd, entry) : -1;
  return state == TWIN ? checked_twin(fd, entry) : -1;
}

void twin_failed(int fd) {
  struct entry *entry = entry_of(fd);
  if (entry != NULL && take(entry, TWIN)) set_state(entry, FAILED);
}
