/* The version of a file, as text: see versionOf of @tiered/node-fs-adapter. */
#ifndef TIERED_VERSION_H
#define TIERED_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define UNKNOWN_SIZE UINT64_MAX

/*
 * Whether a file has this version: mtime in nanoseconds, size and inode, each to base 36, with "-" between.
 */
bool has_version(const struct stat *stat, const char *version);
/* The size that a version tells, UNKNOWN_SIZE if it tells none. */
uint64_t size_in_version(const char *version);

#endif
