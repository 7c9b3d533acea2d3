/*
 * Looks keys up in a table, for tests: `probe TABLE` reads keys, each with a NUL behind it, and writes a line
 * for each: `none`, or level, tag, size and the path of the copy.
 */
#include "../copy-path.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the path of a copy says which key and tag it is of. */
static bool is_found_back(const struct table *table, const char *path, const char *key, size_t length,
                          uint64_t tag) {
  char found[TABLE_COPY];
  size_t found_length;
  uint64_t found_tag;
  return key_of_copy(table, path, strlen(path), found, &found_length, &found_tag) && found_length == length &&
         memcmp(found, key, length) == 0 && found_tag == tag;
}

int main(int count, char **arguments) {
  static struct table table;
  if (count != 2) return 2;
  if (!table_open(&table, arguments[1])) {
    printf("refused: %s\n", strerror(errno));
    return 0;
  }
  printf("%s%s\n", table_is_live(&table) ? "live" : "dead", table_is_outdated(&table) ? ", outdated" : "");
  char *key = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getdelim(&key, &room, '\0', stdin)) > 0) {
    struct table_place place;
    char path[TABLE_PATH];
    if (!table_find(&table, key, (size_t)length - 1, &place)) {
      puts("none");
      continue;
    }
    bool is_copy = copy_path_of(&table, &place, key, (size_t)length - 1, path) > 0;
    struct table_source source;
    table_source_of(&table, place.slot, &source);
    printf("%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %o %" PRIu32 " %" PRIu32 " %" PRIu32
           " %s %s\n",
           place.level, place.tag, source.size, source.inode, source.modified, source.mode, source.device,
           source.user, source.group, is_copy ? path : "-",
           is_copy && is_found_back(&table, path, key, (size_t)length - 1, place.tag) ? "back" : "-");
  }
  free(key);
  return 0;
}
