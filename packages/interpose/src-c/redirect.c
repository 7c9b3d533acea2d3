#include "redirect.h"
#include "copy-path.h"
#include "real.h"
#include "tier-directories.h"
#include "written.h"
#include <errno.h>
#include <fcntl.h>

static bool find(const struct table *table, const struct text *text, struct redirection *redirection) {
  struct table_place place;
  /* Most files are not below the root: what costs something comes afterwards. */
  bool is_found = session_believes(table) && !table_root_is_away(table, text->root) &&
                  table_find(table, text->key, text->length, &place);
  if (is_found) {
    redirection->table = table;
    redirection->slot = place.slot;
    redirection->level = place.level;
    struct table_source source;
    table_source_of(table, place.slot, &source);
    redirection->is_no_link = source.mode != 0;
    bool is_any = is_any_written(table);
    redirection->is_written = is_any && is_written(table, text->key, text->length);
    redirection->copy_length = redirection->is_written || (is_any && !redirection->is_no_link)
                                   ? 0
                                   : copy_path_of(table, &place, text->key, text->length, redirection->copy);
  }
  return is_found;
}

/*
 * Not a part of its caller, for the room that it takes on the stack, of which signal handlers may have
 * little.
 */
__attribute__((noinline)) static bool redirect_with_room(const struct table *table, int directory,
                                                         const char *path, int nofollow,
                                                         struct redirection *redirection) {
  char room[MOST_ROOM];
  struct text text;
  return key_of(table, directory, path, nofollow, room, &text) && find(table, &text, redirection);
}

bool redirect_text(const struct table *table, int directory, const char *path, int flags,
                   const struct text *text, struct redirection *redirection) {
  if (text->key == NULL) return redirect_with_room(table, directory, path, flags & O_NOFOLLOW, redirection);
  return find(table, text, redirection);
}

int open_redirected(const struct redirection *redirection, int flags) {
  if (redirection->copy_length == 0) {
    errno = ENOENT;
    return -1;
  }
  int fd = open_in_tier(redirection->table, redirection->level, redirection->copy, flags | O_NOFOLLOW);
  return fd >= 0 ? fd : real_open(redirection->copy, flags | O_NOFOLLOW, 0);
}
