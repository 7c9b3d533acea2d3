/* Metadata of paths below an imaginary root. */
#ifndef TIERED_IMAGINARY_STAT_H
#define TIERED_IMAGINARY_STAT_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Describes a path as fstatat does. False if it is below no imaginary root; else `result` is that of the
 * call.
 */
bool stat_imaginary(int directory, const char *path, struct stat *stat, int *result);
bool statx_imaginary(int directory, const char *path, unsigned mask, struct statx *stat, int *result);

#endif
