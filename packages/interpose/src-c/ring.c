#include "ring.h"
#include "map.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Laps are counted from 1 to this, so that memory that was never written is of no lap. */
#define LAPS 65535
#define MOST_SLOTS (1ULL << 24)
/* A message: 16 bits of its lap, 4 of its kind, 8 of the table's generation, 36 of the slot. */
#define LAP_SHIFT 48
#define KIND_SHIFT 44
#define GENERATION_SHIFT 36

static struct ring_header *header_of(const struct ring *ring) {
  return (struct ring_header *)(void *)ring->base;
}

bool ring_open(struct ring *ring, const char *path) {
  size_t length;
  ring->base = map_private_file(path, RING_HEADER, PROT_READ | PROT_WRITE, &length);
  if (ring->base == NULL) return false;
  const struct ring_header *header = header_of(ring);
  ring->slots = __atomic_load_n(&header->slots, __ATOMIC_RELAXED);
  bool is_ring = memcmp(header->magic, RING_MAGIC, sizeof header->magic) == 0 && ring->slots > 0 &&
                 ring->slots <= MOST_SLOTS && (ring->slots & (ring->slots - 1)) == 0 &&
                 (length - RING_HEADER) / sizeof(uint64_t) >= ring->slots + RING_WRITTEN_WORDS;
  if (is_ring) return true;
  munmap(ring->base, length);
  errno = EINVAL;
  return false;
}

void ring_close(const struct ring *ring) {
  munmap(ring->base, RING_HEADER + (ring->slots + RING_WRITTEN_WORDS) * sizeof(uint64_t));
}

void ring_note(const struct ring *ring, enum ring_program what) {
  __atomic_fetch_or(&header_of(ring)->programs, (uint64_t)what, __ATOMIC_RELAXED);
}

void ring_post(const struct ring *ring, enum ring_kind kind, uint64_t generation, uint64_t slot) {
  struct ring_header *header = header_of(ring);
  uint64_t head = __atomic_load_n(&header->head, __ATOMIC_RELAXED);
  do {
    if (head - __atomic_load_n(&header->tail, __ATOMIC_RELAXED) >= ring->slots) {
      __atomic_fetch_add(&header->lost, 1, __ATOMIC_RELAXED);
      return;
    }
  } while (
      !__atomic_compare_exchange_n(&header->head, &head, head + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  uint64_t lap = (head / ring->slots) % LAPS + 1;
  uint64_t word = lap << LAP_SHIFT | (uint64_t)kind << KIND_SHIFT | (generation & 0xff) << GENERATION_SHIFT |
                  (slot & 0xfffffffffULL);
  uint64_t *words = (uint64_t *)(void *)(ring->base + RING_HEADER);
  __atomic_store_n(&words[head & (ring->slots - 1)], word, __ATOMIC_RELEASE);
}

static uint64_t *written_words(const struct ring *ring) {
  return (uint64_t *)(void *)(ring->base + RING_HEADER) + ring->slots;
}

uint64_t ring_written(const struct ring *ring) {
  return __atomic_load_n(&header_of(ring)->written, __ATOMIC_ACQUIRE);
}

void ring_write(const struct ring *ring, enum ring_change change, uint64_t hash) {
  __atomic_fetch_or(&written_words(ring)[hash / 64 % RING_WRITTEN_WORDS], 1ULL << hash % 64,
                    __ATOMIC_RELEASE);
  __atomic_fetch_or(&header_of(ring)->written, (uint64_t)change, __ATOMIC_RELEASE);
}

bool ring_has(const struct ring *ring, uint64_t hash) {
  uint64_t word = __atomic_load_n(&written_words(ring)[hash / 64 % RING_WRITTEN_WORDS], __ATOMIC_ACQUIRE);
  return (word >> hash % 64 & 1) != 0;
}

void ring_pass_on(const struct ring *ring, const struct ring *next) {
  uint64_t written = ring_written(ring);
  for (size_t i = 0; written != 0 && i < RING_WRITTEN_WORDS; i++) {
    uint64_t word = __atomic_load_n(&written_words(ring)[i], __ATOMIC_ACQUIRE);
    if (word != 0) __atomic_fetch_or(&written_words(next)[i], word, __ATOMIC_RELEASE);
  }
  if (written != 0) __atomic_fetch_or(&header_of(next)->written, written, __ATOMIC_RELEASE);
}
