/*
 * Programs that open a file nearly always ask for its size next, twice if they are written in Python. For a
 * copy, the answer has to be about the source's file. But descriptors are closed unseen, and their numbers
 * used again, so the kernel has to be asked whether this one is still of the copy. Its path costs 3.5 us. A
 * comparison with the file at the copy's path costs 0.5 us, or 2 us if many files are read, as nothing of the
 * path is in the processor's caches. The identity of the file costs 0.2 us right after the open. A program
 * that has asked about one copy will ask about the next, so it is noted at the open in a process that has
 * asked.
 *
 * A thread takes an entry for a moment to change it. No thread waits: one that finds the entry taken goes on
 * without. If it was opening a file, the entry stays that of another file, which the kernel will contradict.
 */
#include "known-copies.h"
#include "real.h"
#include "redirect.h"
#include "tier-directories.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

/*
 * Descriptors from 1024 on are asked about each time. The memory of entries that are never used is never
 * there.
 */
#define MOST 1024

static struct entry {
  /* Odd while somebody changes it. */
  uint32_t version;
  const struct table *table;
  uint64_t slot;
  unsigned level;
  /* How often the process that opened it had been forked. */
  unsigned forks;
  /* Of the copy, once it is known. */
  struct file_identity identity;
  char path[TABLE_PATH];
} entries[MOST];

/* Whether this process has asked of a copy. */
static bool have_asked;
static unsigned forks;

static void count_fork(void) { forks++; }

__attribute__((constructor)) static void begin(void) { real_atfork(count_fork); }

static struct entry *entry_of(int fd) { return fd >= 0 && fd < MOST ? &entries[fd] : NULL; }

static bool take(struct entry *entry, uint32_t version) {
  if (version % 2 != 0) return false;
  return __atomic_compare_exchange_n(&entry->version, &version, version + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

static uint32_t version_of(const struct entry *entry) {
  return __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
}

static void let_go(struct entry *entry) { __atomic_fetch_add(&entry->version, 1, __ATOMIC_RELEASE); }

/* The identity of a file that was just opened; that of no file, if this process does not ask. */
static struct file_identity identity_at_open(int fd) {
  struct stat found;
  int error = errno;
  if (__atomic_load_n(&have_asked, __ATOMIC_RELAXED) && real_fstat(fd, &found) == 0)
    return identity_of(&found);
  errno = error;
  return (struct file_identity){0};
}

void copy_known(int fd, const struct redirection *redirection) {
  struct entry *entry = entry_of(fd);
  if (entry == NULL || !take(entry, version_of(entry))) return;
  entry->table = redirection->table;
  entry->slot = redirection->slot;
  entry->level = redirection->level;
  entry->forks = forks;
  entry->identity = identity_at_open(fd);
  memcpy(entry->path, redirection->copy, redirection->copy_length + 1);
  let_go(entry);
}

static bool is_same(const struct file_identity *a, const struct file_identity *b) {
  return a->inode == b->inode && a->device == b->device && a->changed_seconds == b->changed_seconds &&
         a->changed_nanoseconds == b->changed_nanoseconds;
}

static bool leads_to(const struct entry *entry, const struct file_identity *identity) {
  struct stat found;
  if (stat_in_tier(entry->table, entry->level, entry->path, &found) < 0) return false;
  struct file_identity there = identity_of(&found);
  return is_same(&there, identity);
}

bool copy_source(int fd, const struct file_identity *identity, const struct table *table,
                 struct table_source *source) {
  struct entry *entry = entry_of(fd);
  if (entry == NULL || !take(entry, version_of(entry))) return false;
  /* Looked at first: other threads read it at each open. */
  if (!__atomic_load_n(&have_asked, __ATOMIC_RELAXED)) __atomic_store_n(&have_asked, true, __ATOMIC_RELAXED);
  bool is_known = entry->table == table && (is_same(&entry->identity, identity) || leads_to(entry, identity));
  if (is_known) entry->identity = *identity;
  uint64_t slot = entry->slot;
  let_go(entry);
  if (is_known) table_source_of(table, slot, source);
  return is_known;
}

bool copy_was_opened_here(int fd) {
  char path[TABLE_PATH];
  struct entry *entry = entry_of(fd);
  if (path_of_descriptor(fd, path, sizeof path) == 0 || entry == NULL || !take(entry, version_of(entry)))
    return false;
  bool is_ours = entry->forks == forks && strcmp(entry->path, path) == 0;
  let_go(entry);
  return is_ours;
}
