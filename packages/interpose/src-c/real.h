/*
 * The functions behind those of the shim: the C library's, or those of another library that was preloaded as
 * well.
 */
#ifndef TIERED_REAL_H
#define TIERED_REAL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

void *find_symbol(void **known, const char *name);
/* Finds a function, where that was not done yet. Takes no lock of its own. */
static inline void *real_symbol(void **known, const char *name) {
  void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
  return found != NULL ? found : find_symbol(known, name);
}

/* Whether the program has the library that this one is for. In others nothing is redirected. */
bool real_is_glibc(void);
/* Has something done in each child that is forked. */
void real_atfork(void (*child)(void));

int real_open(const char *path, int flags, mode_t mode);
int real_openat(int directory, const char *path, int flags, ...);
/* For fortified programs: ends the process where a mode is missing. */
int real_openat_2(int directory, const char *path, int flags);
FILE *real_fopen(const char *path, const char *mode);
FILE *real_freopen(const char *path, const char *mode, FILE *stream);
/* The C library's, for what this library asks of the kernel itself: no point at which a thread is cancelled.
 */
long real_syscall_of(long number, ...);
/* Six numbers follow in any case: those that a call does not name would be read from the caller's stack. */
#define real_syscall(...) real_syscall_of(__VA_ARGS__, 0L, 0L, 0L, 0L, 0L, 0L)
/* The C library's, which have other names in each version, or the kernel's own. */
int real_fstat(int fd, struct stat *stat);
int real_stat(int directory, const char *path, int flags, struct stat *stat);
/* The C library's, which does without the kernel's where that is too old. */
int real_statx(int directory, const char *path, int flags, unsigned mask, struct statx *stat);

/* As close, but no point at which a thread may be cancelled: what this library opens for itself it closes. */
void real_close(int fd);

/* The path that names an open file, whatever became of its name. */
#define DESCRIPTOR_PATH 32
void descriptor_path(int fd, char path[DESCRIPTOR_PATH]);
/*
 * The path of an open file, as the kernel knows it, in `room`, and the length. 0 if that is not known, or too
 * long.
 */
size_t path_of_descriptor(int fd, char *room, size_t size);

#endif
