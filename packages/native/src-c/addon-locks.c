/* Functions of the addon that lock numbers of a file: byte ranges of one byte, of an open file description.
 */
#include "addon.h"
#include "arguments.h"
#include <errno.h>
#include <fcntl.h>

static bool get_number(napi_env env, napi_callback_info info, size_t count, struct arguments *arguments,
                       int *fd, struct flock *lock) {
  double descriptor, number;
  if (!get_arguments(env, info, count, arguments)) return false;
  if (!get_whole(env, arguments->values[0], INT32_MAX, &descriptor)) return false;
  if (!get_whole(env, arguments->values[1], MOST_WHOLE, &number)) return false;
  *fd = (int)descriptor;
  /* l_pid must be 0. */
  *lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)number, .l_len = 1};
  return true;
}

static napi_value outcome(napi_env env, int number) {
  napi_value result;
  napi_create_int32(env, number, &result);
  return result;
}

/* lockNumber(fd, number, how): 0 lets go, 1 shares it, 2 has it alone. Never waits. */
napi_value number_lock(napi_env env, napi_callback_info info) {
  static const short types[] = {F_UNLCK, F_RDLCK, F_WRLCK};
  struct arguments arguments;
  struct flock lock;
  double how;
  int fd;
  if (!get_number(env, info, 3, &arguments, &fd, &lock)) return NULL;
  if (!get_whole(env, arguments.values[2], 2, &how)) return NULL;
  lock.l_type = types[(int)how];
  return outcome(env, fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno);
}

/* isNumberLocked(fd, number): 1 if another open file has it in any way, else 0. */
napi_value number_is_locked(napi_env env, napi_callback_info info) {
  struct arguments arguments;
  struct flock lock;
  int fd;
  if (!get_number(env, info, 2, &arguments, &fd, &lock)) return NULL;
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return outcome(env, -errno);
  return outcome(env, lock.l_type != F_UNLCK);
}
