/*
 * Writes files to standard output that are opened and read by io_uring: `ring PATH...`. Says `ring` on
 * standard error; where the kernel refuses that, it says why, and calls `open` and `read`. With `refused` in
 * place of the first path the kernel refuses it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
  /* Negative if there is none. */
  int fd;
  uint8_t *submitted, *completed;
  struct io_uring_sqe *entry;
  struct io_uring_params at;
};

static void fail(const char *what) {
  perror(what);
  exit(1);
}

/* As a container does whose runtime filters calls of the kernel. */
static void refuse(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    fail("seccomp");
}

static void *map(const struct ring *ring, size_t size, off_t offset) {
  void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, offset);
  if (base == MAP_FAILED) fail("mmap");
  return base;
}

static struct ring open_ring(void) {
  struct ring ring = {0};
  ring.fd = (int)syscall(SYS_io_uring_setup, 1, &ring.at);
  if (ring.fd < 0) return ring;
  ring.submitted =
      map(&ring, ring.at.sq_off.array + ring.at.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  ring.completed =
      map(&ring, ring.at.cq_off.cqes + ring.at.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
  ring.entry = map(&ring, ring.at.sq_entries * sizeof *ring.entry, IORING_OFF_SQES);
  return ring;
}

/* Has the kernel do one thing, and returns what it says. */
static int done(struct ring *ring, struct io_uring_sqe entry) {
  unsigned *tail = (unsigned *)(void *)(ring->submitted + ring->at.sq_off.tail);
  unsigned *head = (unsigned *)(void *)(ring->completed + ring->at.cq_off.head);
  unsigned mask = *(unsigned *)(void *)(ring->completed + ring->at.cq_off.ring_mask);
  *ring->entry = entry;
  ((unsigned *)(void *)(ring->submitted + ring->at.sq_off.array))[0] = 0;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
    fail("io_uring_enter");
  int result = ((struct io_uring_cqe *)(void *)(ring->completed + ring->at.cq_off.cqes))[*head & mask].res;
  __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

static int open_by(struct ring *ring, const char *path) {
  if (ring->fd < 0) return open(path, O_RDONLY);
  return done(
      ring, (struct io_uring_sqe){
                .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)path, .open_flags = O_RDONLY});
}

static ssize_t read_by(struct ring *ring, int fd, char *room, size_t size) {
  if (ring->fd < 0) return read(fd, room, size);
  /* Where the descriptor is. */
  uint64_t offset = (uint64_t)-1;
  return done(
      ring,
      (struct io_uring_sqe){
          .opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)room, .len = (unsigned)size, .off = offset});
}

int main(int count, char **arguments) {
  int first = 1;
  if (count > 1 && strcmp(arguments[1], "refused") == 0) {
    refuse();
    first = 2;
  }
  struct ring ring = open_ring();
  if (ring.fd < 0 && errno != EPERM && errno != ENOSYS) fail("io_uring_setup");
  fprintf(stderr, "%s\n", ring.fd >= 0 ? "ring" : errno == EPERM ? "EPERM" : "ENOSYS");
  for (int i = first; i < count; i++) {
    int fd = open_by(&ring, arguments[i]);
    if (fd < 0) fail(arguments[i]);
    char room[16384];
    ssize_t got;
    while ((got = read_by(&ring, fd, room, sizeof room)) > 0)
      if (fwrite(room, 1, (size_t)got, stdout) != (size_t)got) fail("standard output");
    if (got < 0 || close(fd) != 0) fail(arguments[i]);
  }
  return fflush(stdout) != 0;
}
