/*
 * The table: which files below the logical root have copies on tiers, and where. A daemon writes it, and
 * programs under the shim read it, all at once and without locks.
 *
 * How that can be right: an entry never moves, and its key never changes. Only one word of eight bytes
 * changes, its place. A place names a copy by a tag that is never used again. So a reader that is late, or
 * sees a word half written, makes a path at which there is nothing, and opens the source. It never finds
 * another file.
 *
 * A reader trusts no number of the file before it was checked, once, and keeps the checked one in memory of
 * its own.
 */
#ifndef TIERED_TABLE_H
#define TIERED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_MAGIC "tieredT2"
#define TABLE_HEADER 4096
/* The fastest first. */
#define TABLE_TIERS 16
/* Paths of the root: the real one, and others that lead to it. */
#define TABLE_ROOTS 4
/* The longest root, and the longest name of a copy behind it, with a NUL. */
#define TABLE_ROOT 1024
#define TABLE_COPY 832
#define TABLE_PATH (TABLE_ROOT + TABLE_COPY)
/*
 * Entries that a look-up passes before it gives up: with 10 of 16 places taken, so many in a row are never
 * taken.
 */
#define TABLE_PROBES 4096

/* So many fit a multiplication, and the messages of the ring. */
#define TABLE_MOST_SLOTS (1ULL << 32)

/* Milliseconds after which a daemon that has not said anything is dead, or stopped. */
#define TABLE_DEAD_MS 3000

/* In the file, as are all numbers, in the order of the machine. It fills a line of the cache. */
struct table_entry {
  /*
   * Two XXH64 of the key, with the seeds 0 and 1; the first is written last, and is 0 where there is no
   * entry.
   */
  uint64_t hash[2];
  /* The level in the top byte of 48 bits, and below it the tag, of 40 bits. */
  uint64_t place;
  uint64_t size;
  /* More metadata of the source's file, for programs that read a copy. Times are in nanoseconds. */
  uint64_t inode;
  int64_t modified;
  /* 0 as long as the daemon knows nothing but the size, and of links. */
  uint32_t mode;
  /* As the kernel packs it: 12 bits of the major number, below 20 of the minor one. */
  uint32_t device;
  uint32_t user;
  uint32_t group;
};

struct table_header {
  char magic[8];
  uint64_t slots;
  /*
   * When the daemon last said that it lives: milliseconds of a clock of its own. Programs may have another
   * one, and see only how far it gets on.
   */
  uint64_t beat;
  /* Not 0 once there is another table at the path of this one. */
  uint64_t is_outdated;
  /* Counts the tables at this path, from 1. */
  uint64_t generation;
  uint64_t tier_count;
  uint64_t root_count;
  /*
   * The identity of the root: a process in which it is another one sees something else at its path. 0 for an
   * imaginary root.
   */
  uint64_t root_device;
  uint64_t root_inode;
  /* Not 0 if the first root need not be there. The second one is the tree of its directories then. */
  uint64_t is_imaginary;
  /* The mounts below the root at its last listing, as mounts.h sums them up. */
  uint64_t mounts;
  /* A bit for each root that leads elsewhere now, as the daemon sees it. */
  uint64_t roots_away;
  /*
   * The offsets of texts in the header, each with a NUL at its end: absolute, canonical paths without a slash
   * at the end.
   */
  uint64_t roots[TABLE_ROOTS];
  uint64_t tiers[TABLE_TIERS];
};

/* A table as a program sees it. */
struct table {
  const uint8_t *base;
  size_t length;
  uint64_t slots;
  uint64_t generation;
  uint64_t root_device, root_inode;
  /* A bit for each root that leads this process elsewhere (roots.h). */
  uint32_t away;
  bool is_imaginary;
  /* By so much this process's clock was ahead of the last sign of life, at least. */
  uint64_t ahead;
  unsigned tier_count;
  unsigned root_count;
  size_t root_lengths[TABLE_ROOTS];
  size_t tier_lengths[TABLE_TIERS];
  char roots[TABLE_ROOTS][TABLE_ROOT];
  char tiers[TABLE_TIERS][TABLE_ROOT];
};

/* The place of an object, by its entry. */
struct table_place {
  uint64_t slot;
  unsigned level;
  uint64_t tag;
};

/* The source's file, by its entry. */
struct table_source {
  uint64_t size;
  uint64_t inode;
  int64_t modified;
  uint32_t mode, device, user, group;
};

/*
 * Maps and checks a table. False, with errno, if it cannot be opened; EACCES if others than this user and
 * root may write it, and EINVAL if it is not a table.
 */
bool table_open(struct table *table, const char *path);
/* The same for memory that holds one. */
bool table_check(struct table *table, const uint8_t *base, size_t length);
void table_close(struct table *table);
/* Looks a key up. False if it is not there. */
bool table_find(const struct table *table, const char *key, size_t length, struct table_place *place);
/* Of an entry that was found. */
bool table_has_copy(const struct table *table, uint64_t slot);
void table_source_of(const struct table *table, uint64_t slot, struct table_source *source);
/* Milliseconds of a clock of this process. Without a call of the kernel. */
uint64_t table_now(void);
/*
 * Whether its daemon seems to live; the table of a dead one may be out of date. The daemon is taken to live
 * when the table is opened, unless it is taken for dead.
 */
bool table_is_live(const struct table *table);
void table_take_for_dead(struct table *table);
static inline bool table_is_outdated(const struct table *table) {
  return __atomic_load_n(&((const struct table_header *)(const void *)table->base)->is_outdated,
                         __ATOMIC_ACQUIRE) != 0;
}
/* The mounts that have to be below the root. */
static inline uint64_t table_mounts(const struct table *table) {
  return __atomic_load_n(&((const struct table_header *)(const void *)table->base)->mounts, __ATOMIC_RELAXED);
}
/* Whether what is below one of its roots is not the source. */
static inline bool table_root_is_away(const struct table *table, unsigned root) {
  const struct table_header *header = (const struct table_header *)(const void *)table->base;
  uint64_t away = __atomic_load_n(&header->roots_away, __ATOMIC_RELAXED);
  return ((away | __atomic_load_n(&table->away, __ATOMIC_RELAXED)) >> root & 1) != 0;
}

#endif
