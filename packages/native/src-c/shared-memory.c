#include "shared-memory.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of Linux 6.3; systems may ask for it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static int close_with(int fd, int error) {
  close(fd);
  return -error;
}

int make_memory(size_t length) {
  int fd = memfd_create("tiered", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("tiered", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -errno;
  if (ftruncate(fd, (off_t)length) != 0) return close_with(fd, errno);
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return close_with(fd, errno);
  return fd;
}

/* Sealed, so that nobody can cut it, and on tmpfs, because huge pages may run out at the first touch. */
static int is_lasting(int fd, size_t length) {
  struct stat stat;
  struct statfs system;
  if (fstat(fd, &stat) != 0 || fstatfs(fd, &system) != 0) return 0;
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && system.f_type == TMPFS_MAGIC &&
         stat.st_size == (off_t)length;
}

int map_memory(int fd, size_t length, void **address) {
  if (!is_lasting(fd, length)) return -EINVAL;
  void *mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return -errno;
  *address = mapped;
  return 0;
}

int empty_memory(void *address, size_t length) {
  return madvise(address, length, MADV_REMOVE) == 0 ? 0 : -errno;
}

/* ---- descriptors on their way ---- */

/* Room for one, and for no more: the system closes what does not fit. */
union control {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr header;
};

int give_descriptor(int socket, int fd) {
  char byte = 0;
  union control control = {.bytes = {0}};
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_LEN(sizeof fd)};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int take_descriptor(int socket) {
  char byte;
  int fd;
  union control control = {.bytes = {0}};
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_LEN(sizeof fd)};
  ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return -errno;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof fd))
    return -EPROTO;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

/* ---- a connection of our own ---- */

int connect_to(const char *path, const uint8_t *greeting, size_t length) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return close_with(fd, errno);
  ssize_t sent = send(fd, greeting, length, MSG_NOSIGNAL);
  if (sent < 0) return close_with(fd, errno);
  return (size_t)sent == length ? fd : close_with(fd, EMSGSIZE);
}

int64_t user_behind(int socket) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? (int64_t)peer.uid : -errno;
}
