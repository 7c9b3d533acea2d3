#include "copy-path.h"
#include <string.h>

/* As in copy-name.ts: longer names are not spelled. */
#define LONGEST_SEGMENT 200
#define LONGEST 800
#define TAG_DIGITS 8

/* Characters that stand for themselves. */
static const bool is_plain[256] = {
    ['a' ... 'z'] = true, ['0' ... '9'] = true, ['.'] = true, ['_'] = true, ['-'] = true,
};

/* Whether a segment, as it is spelled, is one that copyName marks: empty, a dot or two, or the SDK's own. */
static bool is_special(const char *segment, size_t length) {
  if (length <= 2) return length == 0 || (segment[0] == '.' && segment[length - 1] == '.');
  return length == 7 && memcmp(segment, ".tiered", 7) == 0;
}

/* Upper case as `^a`, and all else that is not plain as `%c3`. The end of what was written, or NULL. */
static char *spell(const char *key, size_t length, char *to) {
  static const char digits[] = "0123456789abcdef";
  char *segment = to;
  char *at = to;
  for (size_t i = 0; i < length; i++) {
    char c = key[i];
    if (at - to > LONGEST) return NULL;
    if (is_plain[(unsigned char)c]) {
      *at++ = c;
    } else if (c == '/') {
      if (is_special(segment, (size_t)(at - segment)) || at - segment > LONGEST_SEGMENT) return NULL;
      *at++ = c;
      segment = at;
    } else if (c >= 'A' && c <= 'Z') {
      *at++ = '^';
      *at++ = (char)(c - 'A' + 'a');
    } else {
      *at++ = '%';
      *at++ = digits[(unsigned char)c >> 4];
      *at++ = digits[(unsigned char)c & 15];
    }
  }
  bool is_wrong =
      is_special(segment, (size_t)(at - segment)) || at - segment > LONGEST_SEGMENT || at - to > LONGEST;
  return is_wrong ? NULL : at;
}

size_t copy_path_of(const struct table *table, const struct table_place *place, const char *key,
                    size_t length, char path[TABLE_PATH]) {
  path[0] = '\0';
  if (place->level >= table->tier_count) return 0;
  const char *tier = table->tiers[place->level];
  size_t tier_length = table->tier_lengths[place->level];
  memcpy(path, tier, tier_length);
  path[tier_length] = '/';
  char *end = spell(key, length, path + tier_length + 1);
  if (end == NULL) {
    path[0] = '\0';
    return 0;
  }
  *end++ = '@';
  uint64_t tag = place->tag;
  for (int digit = TAG_DIGITS - 1; digit >= 0; digit--, tag /= 36)
    end[digit] = "0123456789abcdefghijklmnopqrstuvwxyz"[tag % 36];
  end[TAG_DIGITS] = '\0';
  return (size_t)(end + TAG_DIGITS - path);
}

static int digit_of(char c, int base) {
  int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : base;
  return digit < base ? digit : -1;
}

static bool parse_tag(const char *digits, uint64_t *tag) {
  *tag = 0;
  for (int i = 0; i < TAG_DIGITS; i++) {
    int digit = digit_of(digits[i], 36);
    if (digit < 0) return false;
    *tag = *tag * 36 + (uint64_t)digit;
  }
  return true;
}

/* The opposite of `spell`. The length of the key, or 0. */
static size_t unspell(const char *name, size_t length, char key[TABLE_COPY]) {
  size_t count = 0;
  for (size_t i = 0; i < length && count < TABLE_COPY; i++) {
    char c = name[i];
    if (c == '^') {
      if (i + 1 >= length) return 0;
      key[count++] = (char)(name[++i] - 'a' + 'A');
    } else if (c == '%') {
      int high = i + 2 < length ? digit_of(name[i + 1], 16) : -1;
      int low = high < 0 ? -1 : digit_of(name[i + 2], 16);
      if (low < 0) return 0;
      key[count++] = (char)(high << 4 | low);
      i += 2;
    } else {
      key[count++] = c;
    }
  }
  return count;
}

static const char *behind_tier(const struct table *table, const char *path, size_t length) {
  for (unsigned i = 0; i < table->tier_count; i++) {
    size_t tier = table->tier_lengths[i];
    if (length > tier + 1 && memcmp(path, table->tiers[i], tier) == 0 && path[tier] == '/')
      return path + tier + 1;
  }
  return NULL;
}

/* The tag of a copy in its name, with the mark in front of it; NULL if the name has none. */
static const char *find_tag(const char *name, size_t length, uint64_t *tag) {
  if (length < TAG_DIGITS + 2) return NULL;
  const char *mark = name + length - TAG_DIGITS - 1;
  return *mark == '@' && parse_tag(mark + 1, tag) ? mark : NULL;
}

bool is_copy_path(const struct table *table, const char *path, size_t length) {
  const char *name = behind_tier(table, path, length);
  uint64_t tag;
  return name != NULL && find_tag(name, length - (size_t)(name - path), &tag) != NULL;
}

bool key_of_copy(const struct table *table, const char *path, size_t path_length, char key[TABLE_COPY],
                 size_t *length, uint64_t *tag) {
  const char *name = behind_tier(table, path, path_length);
  if (name == NULL) return false;
  size_t name_length = path_length - (size_t)(name - path);
  const char *mark = name_length < TABLE_COPY ? find_tag(name, name_length, tag) : NULL;
  if (mark == NULL) return false;
  *length = unspell(name, (size_t)(mark - name), key);
  return *length > 0;
}
