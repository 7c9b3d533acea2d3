#include "redirect.h"
#include "copy-path.h"
#include "resolve.h"
#include "session.h"
#include <errno.h>
#include <fcntl.h>

/*
 * A bit for each descriptor that was opened for a copy. It may be wrong, as descriptors are closed and copied in ways that are not
 * seen here: whoever asks looks at the file itself then.
 */
#define MOST_DESCRIPTORS 65536
#define WORD_BITS 64
static uint64_t descriptors[MOST_DESCRIPTORS / WORD_BITS];

bool redirect(int directory, const char *path, int flags, struct redirection *redirection) {
  const struct table *table = session_table();
  if (table == NULL) return false;
  int error = errno;
  char room[PATH_MAX];
  size_t length;
  struct table_place place;
  const char *key = key_of(table, directory, path, flags & O_NOFOLLOW, room, &length);
  /* Most files are not below the root: what costs something comes afterwards. */
  bool is_found = key != NULL && table_is_live(table) && table_find(table, key, length, &place);
  if (is_found) {
    redirection->table = table;
    redirection->slot = place.slot;
    struct table_source source;
    table_source_of(table, place.slot, &source);
    redirection->is_no_link = source.mode != 0;
    if (!copy_path_of(table, &place, key, length, redirection->copy)) redirection->copy[0] = '\0';
  }
  errno = error;
  return is_found;
}

void redirected(const struct redirection *redirection, int fd) {
  if (fd >= 0 && fd < MOST_DESCRIPTORS)
    __atomic_fetch_or(&descriptors[fd / WORD_BITS], 1ULL << (fd % WORD_BITS), __ATOMIC_RELAXED);
  session_tell(redirection->table, RING_COPY, redirection->slot);
}

void not_redirected(const struct redirection *redirection) {
  session_tell(redirection->table, RING_SOURCE, redirection->slot);
}

bool may_be_copy(int fd) {
  if (fd < 0 || fd >= MOST_DESCRIPTORS) return false;
  return (__atomic_load_n(&descriptors[fd / WORD_BITS], __ATOMIC_RELAXED) >> (fd % WORD_BITS) & 1) != 0;
}

void is_no_copy(int fd) {
  if (may_be_copy(fd)) __atomic_fetch_and(&descriptors[fd / WORD_BITS], ~(1ULL << (fd % WORD_BITS)), __ATOMIC_RELAXED);
}
