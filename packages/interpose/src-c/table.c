#include "table.h"
#include "map.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define XXH_INLINE_ALL
#include "../../native/src-c/vendor/xxhash.h"

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static const struct table_header *header_of(const uint8_t *base) {
  return (const struct table_header *)(const void *)base;
}

/*
 * Copies a text of the header, which may change while it is read. False if it is no canonical, absolute path.
 */
static bool copy_path(char *to, const uint8_t *base, uint64_t offset) {
  if (offset < sizeof(struct table_header) || offset >= TABLE_HEADER) return false;
  size_t most = TABLE_HEADER - offset < TABLE_ROOT ? TABLE_HEADER - offset : TABLE_ROOT;
  memcpy(to, base + offset, most);
  const char *end = memchr(to, '\0', most);
  if (end == NULL || to[0] != '/' || end == to + 1 || end[-1] == '/') return false;
  const char *last = strrchr(to, '/');
  if (strcmp(last, "/.") == 0 || strcmp(last, "/..") == 0) return false;
  return strstr(to, "//") == NULL && strstr(to, "/./") == NULL && strstr(to, "/../") == NULL;
}

bool table_check(struct table *table, const uint8_t *base, size_t length) {
  errno = EINVAL;
  if (length < TABLE_HEADER) return false;
  const struct table_header *header = header_of(base);
  if (memcmp(header->magic, TABLE_MAGIC, sizeof header->magic) != 0) return false;
  uint64_t slots = load(&header->slots);
  uint64_t tier_count = load(&header->tier_count);
  uint64_t root_count = load(&header->root_count);
  if (slots == 0 || slots > TABLE_MOST_SLOTS || tier_count > TABLE_TIERS || root_count == 0 ||
      root_count > TABLE_ROOTS)
    return false;
  if ((length - TABLE_HEADER) / sizeof(struct table_entry) < slots) return false;
  for (unsigned i = 0; i < root_count; i++) {
    if (!copy_path(table->roots[i], base, load(&header->roots[i]))) return false;
    table->root_lengths[i] = strlen(table->roots[i]);
  }
  for (unsigned i = 0; i < tier_count; i++) {
    if (!copy_path(table->tiers[i], base, load(&header->tiers[i]))) return false;
    table->tier_lengths[i] = strlen(table->tiers[i]);
  }
  table->base = base;
  table->length = length;
  table->slots = slots;
  table->generation = load(&header->generation);
  table->root_device = load(&header->root_device);
  table->root_inode = load(&header->root_inode);
  table->away = 0;
  table->is_imaginary = load(&header->is_imaginary) != 0 && table->root_inode == 0 && root_count > 1;
  table->tier_count = (unsigned)tier_count;
  table->root_count = (unsigned)root_count;
  return true;
}

/* Milliseconds, without a system call. They may be some behind those that the daemon looks at. */
static uint64_t own_time(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t time_since_beat(const struct table *table) {
  return own_time() - load(&header_of(table->base)->beat);
}

static void take_for_live(struct table *table) { table->ahead = time_since_beat(table); }

bool table_open(struct table *table, const char *path) {
  size_t length;
  uint8_t *base = map_private_file(path, TABLE_HEADER, PROT_READ, &length);
  if (base == NULL) return false;
  if (table_check(table, base, length)) {
    take_for_live(table);
    return true;
  }
  munmap(base, length);
  errno = EINVAL;
  return false;
}

void table_close(struct table *table) {
  munmap((void *)(uintptr_t)table->base, table->length);
  table->base = NULL;
}

/* 0 stands for no entry. */
static uint64_t first_hash(const char *key, size_t length) {
  uint64_t hash = XXH64(key, length, 0);
  return hash == 0 ? 1 : hash;
}

static const struct table_entry *entries_of(const struct table *table) {
  return (const struct table_entry *)(const void *)(table->base + TABLE_HEADER);
}

bool table_find(const struct table *table, const char *key, size_t length, struct table_place *place) {
  const struct table_entry *entries = entries_of(table);
  uint64_t hash = first_hash(key, length);
  /* The upper half of the hash as a part of all slots. */
  uint64_t slot = ((hash >> 32) * table->slots) >> 32;
  uint64_t most = table->slots < TABLE_PROBES ? table->slots : TABLE_PROBES;
  for (uint64_t probes = 0; probes < most; probes++, slot = slot + 1 == table->slots ? 0 : slot + 1) {
    const struct table_entry *entry = &entries[slot];
    uint64_t found = load(&entry->hash[0]);
    if (found == 0) return false;
    if (found != hash || load(&entry->hash[1]) != XXH64(key, length, 1)) continue;
    uint64_t word = load(&entry->place);
    place->slot = slot;
    place->level = (unsigned)(word >> 40) & 0xff;
    place->tag = word & 0xffffffffffULL;
    return true;
  }
  return false;
}

bool table_has_copy(const struct table *table, uint64_t slot) {
  return (load(&entries_of(table)[slot].place) >> 40 & 0xff) < table->tier_count;
}

void table_source_of(const struct table *table, uint64_t slot, struct table_source *source) {
  const struct table_entry *entry = &entries_of(table)[slot];
  source->mode = __atomic_load_n(&entry->mode, __ATOMIC_ACQUIRE);
  source->size = load(&entry->size);
  source->inode = load(&entry->inode);
  source->modified = __atomic_load_n(&entry->modified, __ATOMIC_RELAXED);
  source->device = __atomic_load_n(&entry->device, __ATOMIC_RELAXED);
  source->user = __atomic_load_n(&entry->user, __ATOMIC_RELAXED);
  source->group = __atomic_load_n(&entry->group, __ATOMIC_RELAXED);
  /* It is 0 while the others change. */
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (__atomic_load_n(&entry->mode, __ATOMIC_RELAXED) != source->mode) source->mode = 0;
}

uint64_t table_now(void) {
  struct timespec now = {0};
  /* It may be some milliseconds behind the clock that the daemon looks at. */
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void table_take_for_dead(struct table *table) { table->ahead -= TABLE_DEAD_MS; }

bool table_is_live(const struct table *table) {
  uint64_t ahead = __atomic_load_n(&table->ahead, __ATOMIC_RELAXED);
  uint64_t since = time_since_beat(table);
  /* Any number may stand there, and clocks may differ by any. */
  int64_t silence = (int64_t)(since - ahead);
  /* It was silent for a while when the table was opened. Only changes of the beat are measured. */
  if (silence < 0) __atomic_store_n((uint64_t *)&table->ahead, since, __ATOMIC_RELAXED);
  return silence < TABLE_DEAD_MS;
}
