/*
 * Answers each line, also after it said that it will only open, describe, read, write and close files: the
 * kernel kills it for any other call. `hold PATH` opens a file, `held` reads it at an offset, `open PATH`
 * opens and reads a file, `read PATH` describes it as well, and `confine HOW` says so: by `prctl`, by the
 * `number` of the call, or `unseen`.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 4096
#define BYTES 20
#define ALLOW(call) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_openat),
    ALLOW(SYS_read),
    ALLOW(SYS_pread64),
    ALLOW(SYS_write),
    ALLOW(SYS_close),
    ALLOW(SYS_fstat),
    ALLOW(SYS_newfstatat),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};

static int held;

static void answer(const char *text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0 || write(STDOUT_FILENO, "\n", 1) < 0) _exit(1);
}

static void tell(ssize_t count, const unsigned char *bytes) {
  char text[2 * BYTES + 1] = "nothing";
  for (ssize_t i = 0; i < count; i++) {
    text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    text[2 * i + 2] = '\0';
  }
  answer(text);
}

static void read_file(const char *path, int is_described) {
  unsigned char bytes[BYTES];
  struct stat stat;
  int fd = open(path, O_RDONLY);
  if (is_described && fd >= 0 && fstat(fd, &stat) < 0) _exit(1);
  ssize_t count = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
  close(fd);
  tell(count, bytes);
}

static void read_held(void) {
  unsigned char bytes[BYTES];
  tell(pread(held, bytes, sizeof bytes, 0), bytes);
}

static long confine(const char *how) {
  if (strcmp(how, "prctl") == 0)
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1
                                                      : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
  /* The C library's own, which nothing that is preloaded stands in front of. */
  void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  long (*unseen)(long, ...) = (long (*)(long, ...))dlsym(library, "syscall");
  long (*call)(long, ...) = strcmp(how, "number") == 0 ? syscall : unseen;
  if (unseen(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0) return -1;
  return call(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, 0L, &filter);
}

static void do_what(char *line) {
  char *argument = strchr(line, ' ');
  if (argument != NULL) *argument++ = '\0';
  if (strcmp(line, "open") == 0) read_file(argument, 0);
  else if (strcmp(line, "read") == 0) read_file(argument, 1);
  else if (strcmp(line, "held") == 0) read_held();
  else if (strcmp(line, "hold") == 0) answer((held = open(argument, O_RDONLY)) < 0 ? "missing" : "held");
  else answer(confine(argument) < 0 ? "refused" : "confined");
}

int main(void) {
  static char line[LINE];
  ssize_t count;
  while ((count = read(STDIN_FILENO, line, sizeof line - 1)) > 0) {
    line[count] = '\0';
    line[strcspn(line, "\n")] = '\0';
    do_what(line);
  }
  _exit(0);
}
