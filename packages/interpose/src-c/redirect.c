#include "redirect.h"
#include "copy-path.h"
#include "known-copies.h"
#include "resolve.h"
#include "session.h"
#include "twins.h"
#include <fcntl.h>

/*
 * A bit for each descriptor that was opened for a copy. It may be wrong, as descriptors are closed and copied in ways that are not
 * seen here: whoever asks looks at the file itself then.
 */
#define MOST_DESCRIPTORS 65536
#define WORD_BITS 64
static uint64_t copies[MOST_DESCRIPTORS / WORD_BITS];
/* The same for directories of the tree of an imaginary root. */
static uint64_t trees[MOST_DESCRIPTORS / WORD_BITS];

static bool find(const struct table *table, const char *key, size_t length, struct redirection *redirection) {
  struct table_place place;
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
  return is_found;
}

/* Not a part of its caller, for the room that it takes on the stack, of which signal handlers may have little. */
__attribute__((noinline)) static bool redirect_with_room(const struct table *table, int directory, const char *path, int nofollow,
                                                         struct redirection *redirection) {
  char room[PATH_MAX];
  size_t length = 0;
  const char *key = key_of(table, directory, path, nofollow, room, &length);
  return find(table, key, length, redirection);
}

bool redirect(int directory, const char *path, int flags, struct redirection *redirection) {
  const struct table *table = session_table();
  if (table == NULL) return false;
  size_t length = 0;
  const char *key = key_of(table, directory, path, flags & O_NOFOLLOW, NULL, &length);
  if (length == KEY_NEEDS_ROOM) return redirect_with_room(table, directory, path, flags & O_NOFOLLOW, redirection);
  return find(table, key, length, redirection);
}

static void mark(uint64_t marks[], int fd) {
  if (fd >= 0 && fd < MOST_DESCRIPTORS) __atomic_fetch_or(&marks[fd / WORD_BITS], 1ULL << (fd % WORD_BITS), __ATOMIC_RELAXED);
}

static bool is_marked(const uint64_t marks[], int fd) {
  if (fd < 0 || fd >= MOST_DESCRIPTORS) return false;
  return (__atomic_load_n(&marks[fd / WORD_BITS], __ATOMIC_RELAXED) >> (fd % WORD_BITS) & 1) != 0;
}

static void unmark(uint64_t marks[], int fd) {
  if (is_marked(marks, fd)) __atomic_fetch_and(&marks[fd / WORD_BITS], ~(1ULL << (fd % WORD_BITS)), __ATOMIC_RELAXED);
}

void redirected(const struct redirection *redirection, int fd) {
  mark(copies, fd);
  copy_known(fd, redirection);
  twin_forget(fd);
  session_tell(redirection->table, RING_COPY, redirection->slot);
}

void not_redirected(const struct redirection *redirection) {
  session_tell(redirection->table, RING_SOURCE, redirection->slot);
}

void is_copy(int fd) {
  mark(copies, fd);
  twin_forget(fd);
}

bool may_be_copy(int fd) { return is_marked(copies, fd); }

void is_no_copy(int fd) {
  unmark(copies, fd);
  twin_forget(fd);
  if (session_is_imaginary) unmark(trees, fd);
}

void is_copied(int from, int to) {
  if (may_be_copy(from)) mark(copies, to);
}

void is_tree(int fd) { mark(trees, fd); }

bool may_be_tree(int fd) { return is_marked(trees, fd); }

void is_no_tree(int fd) { unmark(trees, fd); }
