#include "counts.h"
#include <stdio.h>

static const char *const kinds[KINDS] = {"lookup", "getattr", "open", "read", "bytes", "release"};
atomic_llong counts[KINDS];

size_t write_counts(char *text, size_t room, int reset) {
  size_t length = 0;
  for (int i = 0; i < KINDS; i++) {
    long long count = reset ? atomic_exchange(&counts[i], 0) : atomic_load(&counts[i]);
    length += snprintf(text + length, room - length, "%s\"%s\":%lld", i == 0 ? "{" : ",", kinds[i], count);
  }
  return length + snprintf(text + length, room - length, "}\n");
}
