/*
 * Any bytes as a table, for libFuzzer and AFL++ (fuzz.ts). The input is two texts, each behind a byte with
 * its length, and then the table. The first text is a key, the second what a program calls a file. Because no
 * fuzzer finds a hash, the key is put into the table where it belongs. Ends the process if a path leads where
 * it must not.
 */
#include "../copy-path.h"
#include "../imaginary-path.h"
#include "../resolve.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include "../../../native/src-c/vendor/xxhash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_TEXT 256

static void check(bool is_so, const char *what, const char *path) {
  if (is_so) return;
  fprintf(stderr, "%s: %s\n", what, path);
  abort();
}

/* Takes a text from the input. What is left of it. */
static size_t take_text(const uint8_t **data, size_t size, char text[MOST_TEXT], size_t *length) {
  *length = size > 0 ? **data : 0;
  if (*length + 1 > size) *length = size > 0 ? size - 1 : 0;
  if (size == 0) return 0;
  memcpy(text, *data + 1, *length);
  text[*length] = '\0';
  *data += *length + 1;
  return size - *length - 1;
}

/* Gives the key an entry, with whatever else is there. */
static void put(uint8_t *bytes, size_t size, const char *key, size_t length) {
  struct table_header *header = (struct table_header *)(void *)bytes;
  if (size < TABLE_HEADER || header->slots == 0 ||
      header->slots > (size - TABLE_HEADER) / sizeof(struct table_entry))
    return;
  uint64_t hash = XXH64(key, length, 0);
  uint64_t slot = ((hash >> 32) * header->slots) >> 32;
  struct table_entry *entry = (struct table_entry *)(void *)(bytes + TABLE_HEADER) + slot;
  entry->hash[0] = hash == 0 ? 1 : hash;
  entry->hash[1] = XXH64(key, length, 1);
}

static bool has_bad_segment(const char *path) {
  char framed[PATH_MAX + 2];
  snprintf(framed, sizeof framed, "%s/", path);
  return strstr(framed, "//") != NULL || strstr(framed, "/./") != NULL || strstr(framed, "/../") != NULL;
}

/* A copy is below a tier, and says which key and tag it is of, if no tier is in another one. */
static void look_up(const struct table *table, const char *key, size_t length) {
  struct table_place place;
  struct table_source source;
  char path[TABLE_PATH], found[TABLE_COPY];
  size_t found_length;
  uint64_t tag;
  if (!table_find(table, key, length, &place)) return;
  check(place.slot < table->slots, "a slot outside of the table", key);
  table_source_of(table, place.slot, &source);
  size_t path_length = copy_path_of(table, &place, key, length, path);
  check(path_length == strlen(path), "a path of another length", path);
  if (path_length == 0) return;
  const char *tier = table->tiers[place.level];
  check(strncmp(path, tier, strlen(tier)) == 0 && path[strlen(tier)] == '/', "a copy outside of its tier",
        path);
  check(path_length < TABLE_PATH && !has_bad_segment(path), "a copy leads elsewhere", path);
  bool is_back = key_of_copy(table, path, strlen(path), found, &found_length, &tag);
  check(is_back, "a copy without a key", path);
  if (table->tier_count > 1) return;
  check(found_length == length && memcmp(found, key, length) == 0 && tag == place.tag,
        "a copy of another key", path);
}

static void check_key(const char *key, size_t length, const char *path) {
  char framed[PATH_MAX + 1];
  check(strlen(key) == length, "a key of another length", path);
  snprintf(framed, sizeof framed, "/%.*s", (int)length, key);
  check(length == 0 || !has_bad_segment(framed), "a key that is no path", key);
}

/* A path below a root, and any path. */
static void resolve(const struct table *table, const char *text, int nofollow) {
  char room[MOST_ROOM], path[TABLE_ROOT + MOST_TEXT + 1];
  size_t length;
  snprintf(path, sizeof path, "%s/%s", table->roots[table->root_count - 1], text);
  const char *both[] = {path, text};
  for (unsigned i = 0; i < 2; i++) {
    static struct imaginary found_below;
    if (imaginary_key(table, AT_FDCWD, both[i], &found_below))
      check_key(found_below.key, found_below.length, both[i]);
    struct text found;
    if (!key_of(table, AT_FDCWD, both[i], nofollow, room, &found)) continue;
    check(found.length > 0, "an empty key", both[i]);
    check_key(found.key, found.length, both[i]);
  }
  char key[TABLE_COPY];
  uint64_t tag;
  key_of_copy(table, text, strlen(text), key, &length, &tag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct table table;
  char key[MOST_TEXT], text[MOST_TEXT];
  size_t key_length, text_length;
  size = take_text(&data, size, key, &key_length);
  size = take_text(&data, size, text, &text_length);
  /* Of its own length, so that a read behind its end is seen. */
  uint8_t *bytes = malloc(size == 0 ? 1 : size);
  if (bytes == NULL) return 0;
  memcpy(bytes, data, size);
  put(bytes, size, key, key_length);
  if (table_check(&table, bytes, size)) {
    table_is_live(&table);
    table_is_outdated(&table);
    look_up(&table, key, key_length);
    look_up(&table, text, text_length);
    resolve(&table, text, text_length % 2 == 0 ? 0 : O_NOFOLLOW);
  }
  free(bytes);
  return 0;
}
