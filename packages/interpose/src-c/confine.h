/* Filters for the system calls of this process. */
#ifndef TIERED_CONFINE_H
#define TIERED_CONFINE_H

/*
 * To be called before the kernel is asked to filter calls: `mode` is as PR_SET_SECCOMP takes it, `filter` as
 * SECCOMP_MODE_FILTER does. If the process may be killed for a call, or a handler of its own be asked,
 * nothing is redirected any more.
 */
void confine(unsigned long mode, const void *filter);

#endif
