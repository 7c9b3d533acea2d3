/*
 * A program may have the kernel kill it for any call that it does not expect to make, and this library makes
 * some: for descriptors, links and directories. A filter that only refuses calls does no harm, as a refused
 * call makes this library open the source.
 */
#include "confine.h"
#include "real.h"
#include "session.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_prctl;

__attribute__((constructor)) static void find_all(void) { real_symbol(&next_prctl, "prctl"); }

static bool only_refuses(const struct sock_fprog *filter) {
  for (unsigned i = 0; i < filter->len; i++) {
    const struct sock_filter *rule = &filter->filter[i];
    if (BPF_CLASS(rule->code) != BPF_RET) continue;
    unsigned action = rule->k & SECCOMP_RET_ACTION_FULL;
    bool is_harmless =
        action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_LOG;
    if (BPF_RVAL(rule->code) != BPF_K || !is_harmless) return false;
  }
  return true;
}

void confine(unsigned long mode, const void *filter) {
  /* Some ask without a filter whether there may be one. */
  bool is_filtered = mode == SECCOMP_MODE_FILTER && filter != NULL && !only_refuses(filter);
  if (mode == SECCOMP_MODE_STRICT || is_filtered) session_confine();
}

EXPORT int prctl(int option, ...) {
  unsigned long given[4];
  va_list arguments;
  va_start(arguments, option);
  for (int i = 0; i < 4; i++) given[i] = va_arg(arguments, unsigned long);
  va_end(arguments);
  if (option == PR_SET_SECCOMP) confine(given[0], (const void *)given[1]);
  int (*next)(int, ...) = real_symbol(&next_prctl, "prctl");
  return next(option, given[0], given[1], given[2], given[3]);
}
