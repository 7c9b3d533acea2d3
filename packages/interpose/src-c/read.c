/*
 * The calls that read at an offset, also from another descriptor than the one that the program names; and
 * close, which ends that.
 */
#include "real.h"
#include "twins.h"
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_pread, *next_preadv, *next_preadv2, *next_pread_chk, *next_close;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_pread, "pread64");
  real_symbol(&next_preadv, "preadv64");
  real_symbol(&next_preadv2, "preadv64v2");
  real_symbol(&next_pread_chk, "__pread64_chk");
  real_symbol(&next_close, "close");
}

/* Reads by the twin of a descriptor, or by itself where it has none, and where the copy cannot be read. */
#define READ(fd, call)                                    \
  int error = errno;                                      \
  int twin = twin_of(fd);                                 \
  if (twin >= 0) {                                        \
    ssize_t count = call(twin);                           \
    if (count >= 0 || errno == EINTR) return count;       \
    if (errno == EIO || errno == ESTALE) twin_failed(fd); \
    errno = error;                                        \
  }                                                       \
  return call(fd);

static ssize_t pread_any(int fd, void *room, size_t size, off_t offset) {
  ssize_t (*next)(int, void *, size_t, off_t) = real_symbol(&next_pread, "pread64");
#define CALL(descriptor) next(descriptor, room, size, offset)
  READ(fd, CALL)
#undef CALL
}

EXPORT ssize_t pread(int fd, void *room, size_t size, off_t offset) {
  return pread_any(fd, room, size, offset);
}

EXPORT ssize_t pread64(int fd, void *room, size_t size, off64_t offset) {
  return pread_any(fd, room, size, offset);
}

/* For fortified programs. The library ends those whose room is too small. */
ssize_t __pread_chk(int fd, void *room, size_t size, off_t offset, size_t length);
ssize_t __pread64_chk(int fd, void *room, size_t size, off64_t offset, size_t length);

static ssize_t pread_fortified(int fd, void *room, size_t size, off_t offset, size_t length) {
  ssize_t (*next)(int, void *, size_t, off_t, size_t) = real_symbol(&next_pread_chk, "__pread64_chk");
#define CALL(descriptor) next(descriptor, room, size, offset, length)
  READ(fd, CALL)
#undef CALL
}

EXPORT ssize_t __pread_chk(int fd, void *room, size_t size, off_t offset, size_t length) {
  return pread_fortified(fd, room, size, offset, length);
}

EXPORT ssize_t __pread64_chk(int fd, void *room, size_t size, off64_t offset, size_t length) {
  return pread_fortified(fd, room, size, offset, length);
}

static ssize_t preadv_any(int fd, const struct iovec *rooms, int count_of_rooms, off_t offset) {
  ssize_t (*next)(int, const struct iovec *, int, off_t) = real_symbol(&next_preadv, "preadv64");
#define CALL(descriptor) next(descriptor, rooms, count_of_rooms, offset)
  READ(fd, CALL)
#undef CALL
}

EXPORT ssize_t preadv(int fd, const struct iovec *rooms, int count, off_t offset) {
  return preadv_any(fd, rooms, count, offset);
}

EXPORT ssize_t preadv64(int fd, const struct iovec *rooms, int count, off64_t offset) {
  return preadv_any(fd, rooms, count, offset);
}

/* With the offset -1 it reads where the descriptor is. */
static ssize_t preadv2_any(int fd, const struct iovec *rooms, int count_of_rooms, off_t offset, int flags) {
  ssize_t (*next)(int, const struct iovec *, int, off_t, int) = real_symbol(&next_preadv2, "preadv64v2");
#define CALL(descriptor) next(descriptor, rooms, count_of_rooms, offset, flags)
  if (offset < 0 || flags != 0) return CALL(fd);
  READ(fd, CALL)
#undef CALL
}

EXPORT ssize_t preadv2(int fd, const struct iovec *rooms, int count, off_t offset, int flags) {
  return preadv2_any(fd, rooms, count, offset, flags);
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *rooms, int count, off64_t offset, int flags) {
  return preadv2_any(fd, rooms, count, offset, flags);
}

EXPORT int close(int fd) {
  int (*next)(int) = real_symbol(&next_close, "close");
  twin_forget(fd);
  return next(fd);
}
