#include "mounts.h"
#include "real.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#define XXH_INLINE_ALL
#include "../../native/src-c/vendor/xxhash.h"

/* Of a line, as much as its first five fields may take. */
#define MOST_LINE (3 * PATH_MAX)
#define CHUNK 4096

static char line[MOST_LINE + 1];
static size_t length;

/* The text behind so many spaces; NULL if there are fewer. */
static char *behind_spaces(char *text, unsigned spaces) {
  for (; text != NULL && spaces > 0; spaces--)
    if ((text = strchr(text, ' ')) != NULL) text++;
  return text;
}

/* The kernel writes some characters as a backslash and three octal digits. */
static void unescape(char *text) {
  char *to = text;
  for (; *text != '\0'; text++) {
    bool is_escaped = text[0] == '\\' && strspn(text + 1, "01234567") >= 3;
    if (is_escaped) {
      *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
      text += 3;
    } else {
      *to++ = *text;
    }
  }
  *to = '\0';
}

/* Adds the mount of a line: its number, that of the one above, device, root and path. False if it is none. */
static bool add_mount(const char *directory, uint64_t *sum) {
  line[length] = '\0';
  char *device = behind_spaces(line, 2);
  char *path = behind_spaces(device, 2);
  char *end = path == NULL ? NULL : strchr(path, ' ');
  if (end == NULL) return false;
  *end = '\0';
  unescape(path);
  size_t above = strlen(directory);
  if (strncmp(path, directory, above) != 0 || path[above] != '/') return true;
  size_t rest = strlen(path + above);
  memmove(path, path + above, rest);
  *sum += XXH64(device, (size_t)(path - device) + rest, 0);
  return true;
}

static bool add_all(int fd, const char *directory, uint64_t *sum) {
  static char chunk[CHUNK];
  long count;
  length = 0;
  while ((count = real_syscall(SYS_read, fd, chunk, sizeof chunk)) > 0)
    for (long i = 0; i < count; i++) {
      if (chunk[i] != '\n') {
        if (length < MOST_LINE) line[length++] = chunk[i];
      } else {
        if (!add_mount(directory, sum)) return false;
        length = 0;
      }
    }
  return count == 0;
}

bool mounts_below(const char *directory, uint64_t *sum) {
  int fd = (int)real_syscall(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  *sum = 0;
  bool is_known = add_all(fd, directory, sum);
  real_close(fd);
  return is_known;
}
