#include "real.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Musl has neither, and its loader ends programs for which it does not find what a library needs. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

bool real_is_glibc(void) { return gnu_get_libc_version != NULL; }

void real_atfork(void (*child)(void)) {
  if (__register_atfork != NULL) __register_atfork(NULL, NULL, child, &__dso_handle);
}

/* Functions of 64 bits, by the names that they have in musl. */
static void *find_in_musl(const char *name) {
  char plain[32];
  const char *bits = strstr(name, "64");
  if (bits == NULL || strlen(name) >= sizeof plain) return NULL;
  memcpy(plain, name, (size_t)(bits - name));
  strcpy(plain + (bits - name), bits + 2);
  return dlsym(RTLD_NEXT, plain);
}

/* Found twice at worst, and the same both times. */
void *find_symbol(void **known, const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL && !real_is_glibc()) found = find_in_musl(name);
  __atomic_store_n(known, found, __ATOMIC_RELAXED);
  return found;
}

static void *next_open, *next_openat, *next_openat_2, *next_fopen, *next_freopen, *next_statx, *next_fstatat,
    *next_fxstatat, *next_fstat, *next_fxstat, *next_syscall;
/* The layout that programs know which were linked before version 2.33 of the library. */
#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

/*
 * Before the program begins: dlsym takes the loader's lock. A thread that holds that, while it runs the
 * constructors of a library that is loaded later, may wait for a thread that opens a file.
 */
__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_open, "open64");
  real_symbol(&next_openat, "openat64");
  real_symbol(&next_openat_2, "__openat64_2");
  real_symbol(&next_fopen, "fopen64");
  real_symbol(&next_freopen, "freopen64");
  real_symbol(&next_statx, "statx");
  real_symbol(&next_fstatat, "fstatat64");
  real_symbol(&next_fxstatat, "__fxstatat64");
  real_symbol(&next_fstat, "fstat64");
  real_symbol(&next_fxstat, "__fxstat64");
  real_symbol(&next_syscall, "syscall");
}

/*
 * Those of 64 bits: on this platform both are the same function, and a library in between may have only
 * these.
 */
int real_open(const char *path, int flags, mode_t mode) {
  void *next = real_symbol(&next_open, "open64");
  return ((int (*)(const char *, int, ...))next)(path, flags, mode);
}

int real_openat(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  void *next = real_symbol(&next_openat, "openat64");
  return ((int (*)(int, const char *, int, ...))next)(directory, path, flags, mode);
}

int real_openat_2(int directory, const char *path, int flags) {
  void *next = real_symbol(&next_openat_2, "__openat64_2");
  return ((int (*)(int, const char *, int))next)(directory, path, flags);
}

FILE *real_fopen(const char *path, const char *mode) {
  void *next = real_symbol(&next_fopen, "fopen64");
  return ((FILE * (*)(const char *, const char *)) next)(path, mode);
}

FILE *real_freopen(const char *path, const char *mode, FILE *stream) {
  void *next = real_symbol(&next_freopen, "freopen64");
  return ((FILE * (*)(const char *, const char *, FILE *)) next)(path, mode, stream);
}

/* Each call takes six numbers at most. */
long real_syscall_of(long number, ...) {
  long given[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; i++) given[i] = va_arg(arguments, long);
  va_end(arguments);
  long (*next)(long, ...) = real_symbol(&next_syscall, "syscall");
  return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

int real_fstat(int fd, struct stat *stat) {
  if (next_fstat != NULL) return ((int (*)(int, struct stat *))next_fstat)(fd, stat);
  if (next_fxstat != NULL) return ((int (*)(int, int, struct stat *))next_fxstat)(STAT_VERSION, fd, stat);
  return (int)real_syscall(SYS_fstat, fd, stat);
}

int real_stat(int directory, const char *path, int flags, struct stat *stat) {
  /* New kernels take no path for an empty one, and some libraries look at it. */
  if (path == NULL) path = "";
  if (next_fstatat != NULL)
    return ((int (*)(int, const char *, struct stat *, int))next_fstatat)(directory, path, stat, flags);
  if (next_fxstatat != NULL)
    return ((int (*)(int, int, const char *, struct stat *, int))next_fxstatat)(STAT_VERSION, directory, path,
                                                                                stat, flags);
  return (int)real_syscall(SYS_newfstatat, directory, path, stat, flags);
}

int real_statx(int directory, const char *path, int flags, unsigned mask, struct statx *stat) {
  void *next = real_symbol(&next_statx, "statx");
  return ((int (*)(int, const char *, int, unsigned, struct statx *))next)(directory, path, flags, mask,
                                                                           stat);
}

void real_close(int fd) { real_syscall(SYS_close, fd); }

void descriptor_path(int fd, char path[DESCRIPTOR_PATH]) {
  char digits[12];
  size_t count = 0;
  unsigned rest = (unsigned)fd;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  char *at = stpcpy(path, "/proc/self/fd/");
  while (count > 0) *at++ = digits[--count];
  *at = '\0';
}

size_t path_of_descriptor(int fd, char *room, size_t size) {
  char link[DESCRIPTOR_PATH];
  descriptor_path(fd, link);
  ssize_t length = real_syscall(SYS_readlinkat, AT_FDCWD, link, room, size - 1);
  if (length <= 0 || (size_t)length == size - 1 || room[0] != '/') return 0;
  room[length] = '\0';
  return (size_t)length;
}
