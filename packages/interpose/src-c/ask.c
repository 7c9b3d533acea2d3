/*
 * A question is a letter, a key and a NUL, and an answer `+`, a text and a NUL, or `-`, an error number, and
 * a NUL. Each has a connection of its own: no state is shared by threads or processes. Calls are the kernel's
 * own, at which no thread may be cancelled.
 */
#include "ask.h"
#include "own-descriptors.h"
#include "real.h"
#include "session.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Between two looks whether the daemon lives. */
#define PATIENCE_MS 250
/* Before another attempt, while it has too many connections to take; and how many of these. */
#define RETRY_MS 20
#define MOST_ATTEMPTS 500

static bool is_served(void) {
  const struct table *table = session_imaginary_table();
  return table != NULL && table_is_live(table);
}

void end_connection(int connection) {
  real_syscall(SYS_shutdown, connection, SHUT_RDWR);
  real_close(connection);
}

static bool wait_for(int fd, short events, int ms) {
  struct pollfd one = {.fd = fd, .events = events};
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
  return real_syscall(SYS_ppoll, &one, fd < 0 ? 0 : 1, &time, NULL, 0) > 0;
}

static int connect_to_daemon(void) {
  /* The number that it gets first may be the last one, which the program's file needs. */
  int fd = own_number((int)real_syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd < 0) {
    if (errno != EMFILE && errno != ENFILE) errno = EIO;
    return -1;
  }
  size_t size;
  const void *address = session_address(&size);
  while (real_syscall(SYS_connect, fd, address, size) < 0) {
    bool is_busy = errno == EAGAIN || errno == EINTR;
    if (!is_busy || !is_served()) {
      real_close(fd);
      errno = EIO;
      return -1;
    }
    wait_for(-1, 0, RETRY_MS);
  }
  return fd;
}

/* Sends everything, or reads until a NUL. False if the daemon is gone. */
static bool send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    long sent = real_syscall(SYS_sendto, fd, bytes, length, MSG_NOSIGNAL, NULL, 0);
    if (sent > 0) {
      bytes += sent;
      length -= (size_t)sent;
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return false;
    } else if (!wait_for(fd, POLLOUT, PATIENCE_MS) && !is_served()) {
      return false;
    }
  }
  return true;
}

static bool read_answer(int fd, char *answer, size_t room) {
  for (size_t length = 0; length < room;) {
    long got = real_syscall(SYS_recvfrom, fd, answer + length, room - length, 0, NULL, NULL);
    if (got == 0) return false;
    if (got > 0) {
      length += (size_t)got;
      if (answer[length - 1] == '\0') return true;
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    } else if (!wait_for(fd, POLLIN, PATIENCE_MS) && !is_served()) {
      return false;
    }
  }
  return false;
}

static int number_in(const char *digits) {
  int number = 0;
  for (; *digits >= '0' && *digits <= '9' && number < 1000; digits++) number = number * 10 + (*digits - '0');
  return number > 0 && number < 1000 ? number : EIO;
}

/* One attempt. Negative if the daemon took the connection and said nothing. */
static int ask_once(const char *question, size_t length, char answer[PATH_MAX], int *connection) {
  *connection = connect_to_daemon();
  if (*connection < 0) return errno;
  if (!send_all(*connection, question, length) || !read_answer(*connection, answer, PATH_MAX)) return -1;
  return answer[0] == '+' ? 0 : number_in(answer + 1);
}

int ask(enum ask_kind kind, const char *key, size_t length, char answer[PATH_MAX]) {
  char question[PATH_MAX + 2] = {(char)kind};
  int connection = -1;
  int error = length > PATH_MAX ? ENAMETOOLONG : -1;
  if (error < 0) memcpy(question + 1, key, length);
  for (int attempt = 0; error < 0 && attempt < MOST_ATTEMPTS && is_served(); attempt++) {
    if (attempt > 0) wait_for(-1, 0, RETRY_MS);
    error = ask_once(question, length + 2, answer, &connection);
    if (error != 0 && connection >= 0) end_connection(connection);
  }
  if (error == 0) {
    memmove(answer, answer + 1, strlen(answer));
    return connection;
  }
  errno = error < 0 ? EIO : error;
  return -1;
}
