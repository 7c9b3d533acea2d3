/* Descriptors that another process sends: copies that it opened may be among them. */
#include "opened.h"
#include "real.h"
#include <string.h>
#include <sys/socket.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_recvmsg, *next_recvmmsg;

__attribute__((constructor)) static void find_all(void) {
  real_symbol(&next_recvmsg, "recvmsg");
  real_symbol(&next_recvmmsg, "recvmmsg");
}

static void look_into(struct msghdr *message) {
  if (message->msg_control == NULL) return;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      forget(fd);
    }
  }
}

EXPORT ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  ssize_t (*next)(int, struct msghdr *, int) = real_symbol(&next_recvmsg, "recvmsg");
  ssize_t received = next(socket, message, flags);
  if (received >= 0) look_into(message);
  return received;
}

EXPORT int recvmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout) {
  int (*next)(int, struct mmsghdr *, unsigned, int, struct timespec *) =
      real_symbol(&next_recvmmsg, "recvmmsg");
  int received = next(socket, messages, count, flags, timeout);
  for (int i = 0; i < received; i++) look_into(&messages[i].msg_hdr);
  return received;
}
