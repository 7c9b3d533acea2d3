/*
 * Reads tables that are broken in one place after another: `corrupt TABLE SEED ROUNDS`. Keys come from
 * standard input, each with a NUL behind it. Nothing may go wrong but that a key is not found, or a path
 * leads nowhere: a sanitizer watches. Paths of copies have to be below a tier, of the key, and without a
 * segment that leads elsewhere.
 */
#include "../copy-path.h"
#include "../map.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_KEYS 256

static uint64_t state;

static uint64_t random_number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* A number that is likely to be at some border. */
static uint64_t random_word(void) {
  static const uint64_t borders[] = {
      0, 1, 15, 16, 17, 255, 4095, 4096, 1ULL << 31, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 63, ~0ULL};
  uint64_t choice = random_number();
  return choice % 2 == 0 ? borders[random_number() % (sizeof borders / sizeof *borders)]
                         : random_number() >> (choice >> 8) % 64;
}

static void break_somewhere(uint8_t *table, size_t length) {
  size_t end = random_number() % 2 == 0 ? 256 : length;
  uint64_t word = random_word();
  if (random_number() % 4 == 0) table[random_number() % end] = (uint8_t)word;
  else memcpy(table + random_number() % (end / 8) * 8, &word, sizeof word);
}

/* Whether a path is what the table says of tiers, and a name that leads to no other directory. */
static bool is_safe(const struct table *table, const char *path) {
  bool is_below = false;
  for (unsigned i = 0; i < table->tier_count; i++) {
    size_t length = strlen(table->tiers[i]);
    is_below |= strncmp(path, table->tiers[i], length) == 0 && path[length] == '/';
  }
  return is_below && strlen(path) < TABLE_PATH && strstr(path, "/../") == NULL && strstr(path, "//") == NULL;
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  size_t length;
  const uint8_t *original = map_private_file(arguments[1], TABLE_HEADER, PROT_READ, &length);
  if (original == NULL) return 1;
  state = strtoull(arguments[2], NULL, 10) | 1;
  static char keys[MOST_KEYS * 512];
  size_t key_bytes = fread(keys, 1, sizeof keys - 1, stdin);
  unsigned long accepted = 0, found = 0;
  static struct table table;
  for (unsigned long round = strtoul(arguments[3], NULL, 10); round > 0; round--) {
    /* Of its own length, so that a read behind its end is seen. */
    size_t part =
        random_number() % 8 == 0 ? TABLE_HEADER + random_number() % (length - TABLE_HEADER + 1) : length;
    uint8_t *broken = malloc(part);
    if (broken == NULL) return 1;
    memcpy(broken, original, part);
    for (unsigned faults = 1 + random_number() % 4; faults > 0; faults--) break_somewhere(broken, part);
    if (table_check(&table, broken, part)) {
      accepted++;
      for (size_t at = 0; at < key_bytes; at += strlen(keys + at) + 1) {
        struct table_place place;
        struct table_source source;
        char path[TABLE_PATH], key[TABLE_COPY];
        size_t key_length = strlen(keys + at);
        uint64_t tag;
        if (!table_find(&table, keys + at, key_length, &place)) continue;
        table_source_of(&table, place.slot, &source);
        if (!copy_path_of(&table, &place, keys + at, key_length, path)) continue;
        found++;
        if (!is_safe(&table, path)) {
          printf("a path leads elsewhere: %s\n", path);
          return 1;
        }
        key_of_copy(&table, path, strlen(path), key, &key_length, &tag);
      }
    }
    free(broken);
  }
  printf("%lu %lu\n", accepted, found);
  return 0;
}
