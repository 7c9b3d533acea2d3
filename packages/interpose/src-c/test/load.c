/*
 * Loads a library, `load LIBRARY`: this file once more, compiled with LIBRARY. The library's constructor
 * waits for a thread that opens files, while the loader holds its lock.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef LIBRARY
static void *open_files(void *unused) {
  char room[PATH_MAX];
  struct statx x;
  int fd = openat(AT_FDCWD, "/dev/null", O_RDONLY);
  FILE *stream = fopen("/dev/null", "r");
  if (stream != NULL) stream = freopen("/dev/null", "r", stream);
  DIR *directory = opendir("/");
  bool is_open = fd >= 0 && stream != NULL && directory != NULL && readdir(directory) != NULL &&
                 readdir64(directory) != NULL;
  bool is_known = access("/", R_OK) == 0 && faccessat(AT_FDCWD, "/", R_OK, 0) == 0 && chdir("/") == 0 &&
                  realpath("/", room) != NULL && readlink("/proc/self", room, sizeof room) > 0 &&
                  readlinkat(AT_FDCWD, "/proc/self", room, sizeof room) > 0 &&
                  statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &x) == 0;
  puts(is_open && is_known ? "opened" : "failed");
  return unused;
}

__attribute__((constructor)) static void wait_for_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, open_files, NULL) != 0) exit(1);
  pthread_join(thread, NULL);
}
#else
int main(int count, char **arguments) { return count == 2 && dlopen(arguments[1], RTLD_NOW) != NULL ? 0 : 1; }
#endif
