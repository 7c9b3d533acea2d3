/*
 * Functions for paths that neither open nor describe a file, below an imaginary root. Everything else goes to
 * the functions behind.
 */
#include "descriptors.h"
#include "imaginary-path.h"
#include "imaginary.h"
#include "real.h"
#include "resolve.h"
#include "session.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
/*
 * A function that takes room on the stack is not inlined into those that every program calls: signal handlers
 * may have little.
 */
#define APART __attribute__((noinline)) static

static void *next_opendir, *next_readdir, *next_readdir64, *next_chdir, *next_access, *next_faccessat,
    *next_realpath, *next_readlink, *next_readlinkat, *next_getcwd, *next_get_current_dir_name;

#define NEXT(type, name, ...) ((type)real_symbol(&next_##name, #name))(__VA_ARGS__)

typedef DIR *(*opendir_function)(const char *);
typedef struct dirent *(*readdir_function)(DIR *);
typedef int (*path_function)(const char *);
typedef int (*access_function)(const char *, int);
typedef int (*faccessat_function)(int, const char *, int, int);
typedef char *(*realpath_function)(const char *, char *);
typedef ssize_t (*readlink_function)(const char *, char *, size_t);
typedef ssize_t (*readlinkat_function)(int, const char *, char *, size_t);
typedef char *(*getcwd_function)(char *, size_t);
typedef char *(*get_current_dir_name_function)(void);

/* Before the program begins, as in real.c. */
__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_opendir, "opendir");
  real_symbol(&next_readdir, "readdir");
  real_symbol(&next_readdir64, "readdir64");
  real_symbol(&next_chdir, "chdir");
  real_symbol(&next_access, "access");
  real_symbol(&next_faccessat, "faccessat");
  real_symbol(&next_realpath, "realpath");
  real_symbol(&next_readlink, "readlink");
  real_symbol(&next_readlinkat, "readlinkat");
  real_symbol(&next_getcwd, "getcwd");
  real_symbol(&next_get_current_dir_name, "get_current_dir_name");
}

static DIR *open_original(const char *path) {
  DIR *stream = NEXT(opendir_function, opendir, path);
  if (session_is_imaginary && stream != NULL) unmark(dirfd(stream), MARK_TREE);
  return stream;
}

/* The directory that stands for an imaginary one; an error number if there is none. */
static int directory_at(const struct imaginary *found, char path[PATH_MAX]) {
  if (found->kind == IMAGINARY_FILE) return ENOTDIR;
  if (found->kind == IMAGINARY_NOTHING) return found->error;
  return tree_path(found->table, found->key, found->length, path) ? 0 : ENAMETOOLONG;
}

APART DIR *opendir_any(const char *path) {
  struct imaginary found;
  if (imaginary_look(AT_FDCWD, path, &found) == IMAGINARY_NONE) return open_original(path);
  char tree[PATH_MAX];
  int error = directory_at(&found, tree);
  if (error != 0) errno = error;
  DIR *stream = error == 0 && imaginary_complete(&found, tree) ? NEXT(opendir_function, opendir, tree) : NULL;
  if (stream != NULL) mark(dirfd(stream), MARK_TREE);
  return stream;
}

EXPORT DIR *opendir(const char *path) {
  return imaginary_may_be(path) ? opendir_any(path) : open_original(path);
}

/* In the tree, files are links. */
static struct dirent *as_file(DIR *stream, struct dirent *entry) {
  if (entry != NULL && entry->d_type == DT_LNK && (marks_of(dirfd(stream)) & MARK_TREE) != 0)
    entry->d_type = DT_REG;
  return entry;
}

EXPORT struct dirent *readdir(DIR *stream) {
  return as_file(stream, NEXT(readdir_function, readdir, stream));
}

EXPORT struct dirent64 *readdir64(DIR *stream) {
  return (struct dirent64 *)as_file(stream, NEXT(readdir_function, readdir64, stream));
}

APART int chdir_any(const char *path) {
  struct imaginary found;
  if (imaginary_look(AT_FDCWD, path, &found) == IMAGINARY_NONE) return NEXT(path_function, chdir, path);
  char tree[PATH_MAX];
  int error = directory_at(&found, tree);
  if (error == 0) return NEXT(path_function, chdir, tree);
  errno = error;
  return -1;
}

EXPORT int chdir(const char *path) {
  return imaginary_may_be(path) ? chdir_any(path) : NEXT(path_function, chdir, path);
}

/*
 * The working directory is one of the tree, whose path is not the one that the program knows. False if it is
 * another one. Keeps errno.
 */
static bool imaginary_directory(char path[PATH_MAX]) {
  const struct table *table = session_is_imaginary ? session_imaginary_table() : NULL;
  if (table == NULL || table->root_count < 2) return false;
  int error = errno;
  bool is_known = path_of_directory(AT_FDCWD, path, PATH_MAX);
  errno = error;
  size_t tree = table->root_lengths[1];
  if (!is_known || strncmp(path, table->roots[1], tree) != 0 || (path[tree] != '/' && path[tree] != '\0'))
    return false;
  size_t below = strlen(path + tree) + 1;
  if (table->root_lengths[0] + below > PATH_MAX) return false;
  memmove(path + table->root_lengths[0], path + tree, below);
  memcpy(path, table->roots[0], table->root_lengths[0]);
  return true;
}

APART char *getcwd_any(char *room, size_t size) {
  char path[PATH_MAX];
  if (!imaginary_directory(path)) return NEXT(getcwd_function, getcwd, room, size);
  size_t needed = strlen(path) + 1;
  if (room == NULL && size == 0) size = needed;
  char *to = size < needed ? NULL : room != NULL ? room : malloc(size);
  if (size < needed) errno = size == 0 ? EINVAL : ERANGE;
  return to == NULL ? NULL : memcpy(to, path, needed);
}

EXPORT char *getcwd(char *room, size_t size) {
  return session_is_imaginary ? getcwd_any(room, size) : NEXT(getcwd_function, getcwd, room, size);
}

EXPORT char *get_current_dir_name(void) {
  char *path = session_is_imaginary ? getcwd_any(NULL, 0) : NULL;
  if (path == NULL) return NEXT(get_current_dir_name_function, get_current_dir_name);
  return path;
}

/* For fortified programs. */
char *__getcwd_chk(char *room, size_t size, size_t known);
EXPORT char *__getcwd_chk(char *room, size_t size, size_t known) {
  if (size > known) abort();
  return getcwd(room, size);
}

/* Files may be read, and nothing may be written. */
static int access_imaginary(const struct imaginary *found, int mode) {
  int error = 0;
  if (found->kind == IMAGINARY_NOTHING) error = found->error;
  else if ((mode & W_OK) != 0) error = EROFS;
  else if ((mode & X_OK) != 0 && found->kind == IMAGINARY_FILE) error = EACCES;
  if (error == 0) return 0;
  errno = error;
  return -1;
}

APART int access_any(const char *path, int mode) {
  struct imaginary found;
  if (imaginary_look(AT_FDCWD, path, &found) == IMAGINARY_NONE)
    return NEXT(access_function, access, path, mode);
  return access_imaginary(&found, mode);
}

EXPORT int access(const char *path, int mode) {
  return imaginary_may_be(path) ? access_any(path, mode) : NEXT(access_function, access, path, mode);
}

APART int faccessat_any(int directory, const char *path, int mode, int flags) {
  struct imaginary found;
  if (imaginary_look(directory, path, &found) == IMAGINARY_NONE)
    return NEXT(faccessat_function, faccessat, directory, path, mode, flags);
  return access_imaginary(&found, mode);
}

EXPORT int faccessat(int directory, const char *path, int mode, int flags) {
  return imaginary_may_be(path) ? faccessat_any(directory, path, mode, flags)
                                : NEXT(faccessat_function, faccessat, directory, path, mode, flags);
}

EXPORT int euidaccess(const char *path, int mode) { return faccessat(AT_FDCWD, path, mode, AT_EACCESS); }

EXPORT int eaccess(const char *path, int mode) { return faccessat(AT_FDCWD, path, mode, AT_EACCESS); }

static char *realpath_imaginary(const struct imaginary *found, char *resolved) {
  const struct table *table = found->table;
  size_t size = table->root_lengths[0] + 1 + found->length + 1;
  int error = found->kind == IMAGINARY_NOTHING ? found->error : size > PATH_MAX ? ENAMETOOLONG : 0;
  char *path = error != 0 ? NULL : resolved != NULL ? resolved : malloc(size);
  if (path == NULL) {
    if (error != 0) errno = error;
    return NULL;
  }
  char *end = stpcpy(path, table->roots[0]);
  if (found->length > 0) memcpy(stpcpy(end, "/"), found->key, found->length + 1);
  return path;
}

APART char *realpath_any(const char *path, char *resolved) {
  struct imaginary found;
  if (imaginary_look(AT_FDCWD, path, &found) == IMAGINARY_NONE)
    return NEXT(realpath_function, realpath, path, resolved);
  return realpath_imaginary(&found, resolved);
}

EXPORT char *realpath(const char *path, char *resolved) {
  return imaginary_may_be(path) ? realpath_any(path, resolved)
                                : NEXT(realpath_function, realpath, path, resolved);
}

EXPORT char *canonicalize_file_name(const char *path) { return realpath(path, NULL); }

/* For fortified programs: the room that they have is known to be enough. */
char *__realpath_chk(const char *path, char *resolved, size_t room);
EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room) {
  if (resolved != NULL && room < PATH_MAX) abort();
  return realpath(path, resolved);
}

/* There are no links. */
static ssize_t readlink_imaginary(const struct imaginary *found) {
  errno = found->kind == IMAGINARY_NOTHING ? found->error : EINVAL;
  return -1;
}

APART ssize_t readlink_any(const char *path, char *room, size_t size) {
  struct imaginary found;
  if (imaginary_look(AT_FDCWD, path, &found) == IMAGINARY_NONE)
    return NEXT(readlink_function, readlink, path, room, size);
  return readlink_imaginary(&found);
}

EXPORT ssize_t readlink(const char *path, char *room, size_t size) {
  return imaginary_may_be(path) ? readlink_any(path, room, size)
                                : NEXT(readlink_function, readlink, path, room, size);
}

APART ssize_t readlinkat_any(int directory, const char *path, char *room, size_t size) {
  struct imaginary found;
  if (imaginary_look(directory, path, &found) == IMAGINARY_NONE)
    return NEXT(readlinkat_function, readlinkat, directory, path, room, size);
  return readlink_imaginary(&found);
}

EXPORT ssize_t readlinkat(int directory, const char *path, char *room, size_t size) {
  return imaginary_may_be(path) ? readlinkat_any(directory, path, room, size)
                                : NEXT(readlinkat_function, readlinkat, directory, path, room, size);
}
