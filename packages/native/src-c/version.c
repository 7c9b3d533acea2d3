#include "version.h"
#include <string.h>

/* Room for 128 bits to base 36, and a sign. */
#define ROOM 28

__extension__ typedef __int128 wide;

/* Writes a number so that it ends before `end`; returns where it begins. */
static char *write_base36(char *end, wide number) {
  bool is_negative = number < 0;
  if (is_negative) number = -number;
  do *--end = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
  while ((number /= 36) > 0);
  if (is_negative) *--end = '-';
  return end;
}

bool has_version(const struct stat *stat, const char *version) {
  char text[3 * ROOM + 3], *at = text + sizeof text - 1;
  *at = '\0';
  /* Node takes all of these for signed. */
  at = write_base36(at, (int64_t)stat->st_ino);
  *--at = '-';
  at = write_base36(at, (int64_t)stat->st_size);
  *--at = '-';
  at = write_base36(at, (wide)stat->st_mtim.tv_sec * 1000000000 + stat->st_mtim.tv_nsec);
  return strcmp(at, version) == 0;
}

static int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 10;
  return -1;
}

/*
 * The end of a number that begins here; NULL if none does. One that is too large is no size that a file could
 * have.
 */
static const char *end_of_number(const char *at, uint64_t *number) {
  const char *begin = at;
  *number = 0;
  for (int digit; (digit = digit_of(*at)) >= 0; at++) *number = *number * 36 + (uint64_t)digit;
  return at == begin ? NULL : at;
}

uint64_t size_in_version(const char *version) {
  uint64_t size, other;
  const char *at = end_of_number(*version == '-' ? version + 1 : version, &other);
  if (at == NULL || *at != '-') return UNKNOWN_SIZE;
  at = end_of_number(at + 1, &size);
  if (at == NULL || *at != '-') return UNKNOWN_SIZE;
  at = end_of_number(at + 1, &other);
  return at == NULL || *at != '\0' ? UNKNOWN_SIZE : size;
}
