/*
 * Opens a file in one of many ways, and says where it was read: `opens HOW PATH`. The bytes go to standard
 * output, and what is known of the open file to standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

static const char *how, *path;
static int result = -1;
static char childs_place[4096];

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static bool is(const char *name) { return strcmp(how, name) == 0; }

static int directory_of(const char *file, char **base) {
  char *copy = strdup(file);
  *base = basename(strdup(file));
  int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("directory");
  return fd;
}

static int relative(void) {
  char *base;
  int directory = directory_of(path, &base);
  if (fchdir(directory) < 0) fail("fchdir");
  return open(base, O_RDONLY);
}

static int by_stream(FILE *stream) {
  if (stream == NULL) fail("stream");
  return fileno(stream);
}

static void *in_thread(void *unused) {
  result = open(path, O_RDONLY);
  return unused;
}

static int flags_in_handler = O_RDONLY;

static void in_handler(int signal) {
  (void)signal;
  result = open(path, flags_in_handler);
}

static int by_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, in_thread, NULL) != 0) fail("thread");
  pthread_join(thread, NULL);
  return result;
}

static int by_handler(void) {
  signal(SIGUSR1, in_handler);
  raise(SIGUSR1);
  return result;
}

/* Descriptors that a program does not know of. */
#define FIRST_OF_OTHERS 512
#define LAST_OF_OTHERS 528

/*
 * What a handler has on a stack of 8 KiB, as SIGSTKSZ was for long, once the processor's registers are on it.
 */
#define SMALL_STACK 5120
#define PAGE 4096

static int by_small_stack(void) {
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  /* valgrind does not know it. */
  errno = 0;
  stack_t stack = {.ss_size = (frame > 0 ? frame : MINSIGSTKSZ) + SMALL_STACK};
  uint8_t *memory =
      mmap(NULL, PAGE + stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) < 0) fail("mmap");
  stack.ss_sp = memory + PAGE;
  struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0) fail("sigaltstack");
  raise(SIGUSR1);
  return result;
}

/* Closes what it did not open, or takes the numbers for something else. */
static int without_others(bool is_taken) {
  int root = open("/", O_RDONLY | O_DIRECTORY);
  for (int number = FIRST_OF_OTHERS; number < LAST_OF_OTHERS; number++)
    if (is_taken ? dup2(root, number) < 0 : close(number) < 0 && errno != EBADF) fail("descriptors");
  close(root);
  errno = 0;
  return open(path, O_RDONLY);
}

/* Opens what is open, for writing. */
static int by_descriptor(void) {
  char link[64], name[16];
  snprintf(name, sizeof name, "%d", open(path, O_RDONLY));
  snprintf(link, sizeof link, "/dev/fd/%s", name);
  if (is("/dev/fd for reading")) return open(link, O_RDONLY);
  if (is("fopen of /dev/fd")) return by_stream(fopen(link, "r"));
  if (is("/dev/fd")) return open(link, O_RDWR);
  if (is("//dev/fd")) return openat(AT_FDCWD, strcat(strcpy(link, "//dev/./fd/"), name), O_RDWR);
  if (is("/dev/fd by O_CREAT")) return open(link, O_RDONLY | O_CREAT, 0600);
  if (is("a directory /dev/fd")) return openat(open("/dev/fd", O_RDONLY | O_DIRECTORY), name, O_RDWR);
  if (is("in /dev/fd")) return chdir("/dev/fd") < 0 ? -1 : open(name, O_RDWR);
  if (is("in /dev/fd, fopen")) return chdir("/dev/fd") < 0 ? -1 : by_stream(fopen(name, "r+"));
  if (is("freopen /dev/fd")) return by_stream(freopen(link, "r+", stdin));
  errno = EINVAL;
  return -1;
}

static int open_file(void) {
  char *base;
  if (is("open")) return open(path, O_RDONLY);
  if (is("open64")) return open64(path, O_RDONLY | O_CLOEXEC);
  if (is("openat")) return openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (is("openat64")) return openat64(AT_FDCWD, path, O_RDONLY);
  if (is("directory")) {
    int directory = directory_of(path, &base);
    return openat(directory, base, O_RDONLY);
  }
  if (is("relative")) return relative();
  if (is("__open_2")) return __open_2(path, O_RDONLY);
  if (is("__open64_2")) return __open64_2(path, O_RDONLY);
  if (is("__openat_2")) return __openat_2(AT_FDCWD, path, O_RDONLY);
  if (is("__openat64_2")) return __openat64_2(AT_FDCWD, path, O_RDONLY);
  if (is("fopen")) return by_stream(fopen(path, "r"));
  if (is("fopen64")) return by_stream(fopen64(path, "rbe"));
  if (is("freopen")) return by_stream(freopen(path, "r", stdin));
  if (is("freopen64")) return by_stream(freopen64(path, "rb", stdin));
  if (is("freopen of a closed stream")) {
    close(STDIN_FILENO);
    return by_stream(freopen(path, "r", stdin));
  }
  if (is("thread")) return by_thread();
  if (is("handler")) return by_handler();
  if (is("small stack")) return by_small_stack();
  if (is("small stack, O_RDWR")) {
    flags_in_handler = O_RDWR;
    return by_small_stack();
  }
  if (is("closed descriptors")) return without_others(false);
  if (is("taken descriptors")) return without_others(true);
  if (is("O_NOFOLLOW")) return open(path, O_RDONLY | O_NOFOLLOW);
  if (is("O_RDWR")) return open(path, O_RDWR);
  if (is("O_PATH")) return open(path, O_RDONLY | O_PATH);
  if (is("O_DIRECT")) return open(path, O_RDONLY | O_DIRECT);
  if (is("O_CREAT")) return open(path, O_RDONLY | O_CREAT, 0600);
  if (is("O_NOATIME")) return open(path, O_RDONLY | O_NOATIME);
  if (is("freopen r+")) {
    FILE *stream = fopen(path, "r");
    return by_stream(freopen(NULL, "r+", stream));
  }
  if (strstr(how, "/dev/fd") != NULL) return by_descriptor();
  if (is("dup")) return dup(open(path, O_RDONLY));
  if (is("F_DUPFD")) return fcntl(open(path, O_RDONLY), F_DUPFD_CLOEXEC, 100);
  if (is("freopen NULL")) {
    FILE *stream = fopen(path, "r");
    return by_stream(freopen(NULL, "r", stream));
  }
  if (is("r+")) return by_stream(fopen(path, "r+"));
  if (is("a+")) return by_stream(fopen(path, "a+"));
  errno = EINVAL;
  return -1;
}

static void place_of(int fd, char *place, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, place, size - 1);
  place[length < 0 ? 0 : length] = '\0';
}

/* Says where an open file is, and what is said of it. */
static void describe(int fd) {
  char place[4096], changed[32];
  place_of(fd, place, sizeof place);
  /* A child that shared this memory has opened it too. */
  if (childs_place[0] != '\0' && strcmp(place, childs_place) != 0) fail("the child opened something else");
  struct stat one, other;
  struct statx x;
  if (fstat(fd, &one) < 0 || fstatat(fd, "", &other, AT_EMPTY_PATH) < 0 ||
      statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) < 0)
    fail("stat");
  /* What new kernels take for the same, and old ones refuse. */
  const char *volatile none = NULL;
  if (fstatat(fd, none, &other, AT_EMPTY_PATH) < 0 && errno != EFAULT) fail("stat");
  bool is_same = one.st_ino == other.st_ino && one.st_ino == x.stx_ino && one.st_mode == x.stx_mode &&
                 one.st_mtim.tv_nsec == x.stx_mtime.tv_nsec && one.st_mtim.tv_sec == x.stx_mtime.tv_sec &&
                 other.st_dev == one.st_dev && (uint64_t)one.st_size == x.stx_size;
  snprintf(changed, sizeof changed, "%lld.%09ld", (long long)one.st_mtim.tv_sec, one.st_mtim.tv_nsec);
  fprintf(stderr, "%s\n%lu %lu %o %u %u %lld %s %s\n", place, (unsigned long)one.st_dev,
          (unsigned long)one.st_ino, one.st_mode, one.st_uid, one.st_gid, (long long)one.st_size, changed,
          is_same ? "same" : "different");
}

static void copy_out(int fd) {
  /* What O_DIRECT asks for. */
  static _Alignas(PAGE) char bytes[16 * PAGE];
  ssize_t count;
  while ((count = read(fd, bytes, sizeof bytes)) > 0)
    if (write(STDOUT_FILENO, bytes, (size_t)count) != count) fail("write");
  if (count < 0) fail("read");
}

static void await(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) < 0 || status != 0) fail("child");
}

static void open_in_child_of_vfork(void) {
  pid_t child = vfork();
  if (child == 0) {
    int fd = open(path, O_RDONLY);
    if (fd >= 0) place_of(fd, childs_place, sizeof childs_place);
    _exit(childs_place[0] != '\0' ? 0 : 1);
  }
  await(child);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  how = arguments[1];
  path = arguments[2];
  if (is("vfork")) open_in_child_of_vfork();
  if (is("fork")) {
    pid_t child = fork();
    if (child > 0) {
      await(child);
      return 0;
    }
  }
  if (is("fork") || is("vfork")) how = "open";
  errno = 0;
  int fd = open_file();
  if (fd < 0) fail("open");
  if (errno != 0) fail("errno was changed");
  describe(fd);
  if (!is("O_PATH")) copy_out(fd);
  return 0;
}
