/*
 * The problem: a program that changes a file of the source has to find it changed, and so have all other
 * programs, before the daemon can know of it.
 *
 * The ring has a bit for each file, by a hash of its key, which all programs under the shim write and read. A
 * file with its bit set is read in the source until the next daemon begins. A program that has the file open,
 * or mapped, may write to it at any time, and that is not seen. The end of it is not seen either: only a
 * lease (F_SETLEASE) would tell, and that needs the file's owner and sends signals. Two files may have one
 * bit. Then the other one is read in the source as well: one file of a million for each that was changed. A
 * directory changes everything below it. That is a bit of another hash, which is looked for only after a
 * directory was renamed.
 *
 * A file that has several names, or is reached by a symlink, is not known by its path. The table does not
 * describe the files of such objects, and after the first change they are all read in the source.
 */
#include "written.h"
#include "real.h"
#include "resolve.h"
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define XXH_INLINE_ALL
#include "../../native/src-c/vendor/xxhash.h"

/* Seeds that the table does not use. */
#define FILE_SEED 2
#define DIRECTORY_SEED 3

bool is_any_written(const struct table *table) { return ring_written(session_ring(table)) != 0; }

bool is_written(const struct table *table, const char *key, size_t length) {
  const struct ring *ring = session_ring(table);
  if (ring_has(ring, XXH64(key, length, FILE_SEED))) return true;
  if ((ring_written(ring) & RING_DIRECTORIES) == 0) return false;
  for (size_t at = 1; at < length; at++)
    if (key[at] == '/' && ring_has(ring, XXH64(key, at, DIRECTORY_SEED))) return true;
  return false;
}

/* The table whose files may be written. A daemon that comes next is told as well. */
static const struct table *table_to_write(void) {
  const struct table *table = __atomic_load_n(&session_last, __ATOMIC_ACQUIRE);
  return table == NULL || table->is_imaginary ? NULL : table;
}

/* An absolute path without dots. */
static bool note(const struct table *table, const char *path, enum ring_change change) {
  struct text text;
  if (!may_be_below(table, path, &text) || text.key == NULL) return false;
  uint64_t seed = change == RING_DIRECTORIES ? DIRECTORY_SEED : FILE_SEED;
  ring_write(session_ring(table), change, XXH64(text.key, text.length, seed));
  return true;
}

/*
 * The absolute path of a name, which is not followed, and need not exist. False if it is too long, or cannot
 * be resolved.
 */
static bool place_of(int directory, const char *path, char room[MOST_ROOM]) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  size_t above = length;
  while (above > 0 && path[above - 1] != '/') above--;
  if (length >= MOST_ROOM || length == 0) return false;
  memcpy(room, path, above);
  room[above] = '\0';
  bool is_known = above == 0 ? path_of_directory(directory, room, MOST_ROOM)
                             : ask_kernel(directory, room, 0, room, MOST_ROOM);
  if (!is_known) return false;
  if (length == 1 && path[0] == '.') return true;
  size_t end = strlen(room);
  if (end + 1 + (length - above) >= MOST_ROOM) return false;
  room[end++] = '/';
  memcpy(room + end, path + above, length - above);
  room[end + length - above] = '\0';
  return true;
}

/* Not a part of its callers, for the room that it takes on the stack. */
__attribute__((noinline)) static bool note_place(const struct table *table, int directory, const char *path,
                                                 enum ring_change change) {
  char room[MOST_ROOM];
  return place_of(directory, path, room) && note(table, room, change);
}

static bool note_at(const struct table *table, int directory, const char *path, enum ring_change change) {
  struct text text;
  if (!may_be_below(table, path, &text)) return false;
  return text.key != NULL ? note(table, path, change) : note_place(table, directory, path, change);
}

/* Notes the file to which a path leads by symlinks. */
__attribute__((noinline)) static void note_followed(const struct table *table, int directory,
                                                    const char *path) {
  char room[MOST_ROOM];
  if (ask_kernel(directory, path, 0, room, MOST_ROOM)) note(table, room, RING_FILES);
}

void written_at(int directory, const char *path) {
  const struct table *table = table_to_write();
  int error = errno;
  if (table != NULL && note_at(table, directory, path, RING_FILES)) note_followed(table, directory, path);
  errno = error;
}

/* A file that was truncated, or can only be written, is not read. */
static bool is_read(int fd) {
  struct stat stat;
  return (real_syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) == O_RDWR && real_fstat(fd, &stat) == 0 &&
         stat.st_size > 0;
}

/* Not a part of its callers, for the room that it takes on the stack. */
__attribute__((noinline)) static void note_open(const struct table *table, int fd) {
  char room[MOST_ROOM];
  struct text text;
  struct table_place place;
  if (path_of_descriptor(fd, room, MOST_ROOM) == 0 || !note(table, room, RING_FILES)) return;
  if (may_be_below(table, room, &text) && table_find(table, text.key, text.length, &place) && is_read(fd))
    session_tell(table, RING_WRITTEN, place.slot);
}

int written_by(int fd, int directory, const char *path) {
  const struct table *table = table_to_write();
  if (table == NULL || fd < 0) return fd;
  int error = errno;
  /* The path may be a link that is an object itself. */
  if (path != NULL) note_at(table, directory, path, RING_FILES);
  note_open(table, fd);
  errno = error;
  return fd;
}

void written_renamed(int directory, const char *from, int to_directory, const char *to) {
  const struct table *table = table_to_write();
  if (table == NULL) return;
  int error = errno;
  bool is_from = note_at(table, directory, from, RING_FILES);
  bool is_to = note_at(table, to_directory, to, RING_FILES);
  struct stat stat;
  if ((is_from || is_to) && real_stat(directory, from, AT_SYMLINK_NOFOLLOW, &stat) == 0 &&
      S_ISDIR(stat.st_mode)) {
    note_at(table, directory, from, RING_DIRECTORIES);
    note_at(table, to_directory, to, RING_DIRECTORIES);
  }
  errno = error;
}
