/*
 * The ring: programs tell the daemon which files they opened, and never wait for it.
 *
 * A message is one word, written by one store, behind a place that was taken by compare-and-swap. The lap in
 * its top bits says that it is written, so a program that dies in between, or is late by a lap, costs one
 * message. A full ring takes no more, and counts what it did not take. The daemon trusts nothing in it.
 *
 * The daemon looks for messages every few milliseconds, and nobody wakes it: that would take calls of the
 * kernel for which a program that has confined itself is killed.
 */
#ifndef TIERED_RING_H
#define TIERED_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAGIC "tieredR1"
#define RING_HEADER 4096

/* The file that a program reads: a copy, the source, or the source for good, because a program may write to
 * the file.
 */
enum ring_kind { RING_COPY = 1, RING_SOURCE = 2, RING_WRITTEN = 3 };

/* Changes of the source by programs, see written.c. The rename of a directory changes all below it. */
enum ring_change { RING_FILES = 1, RING_DIRECTORIES = 2 };

/* Events of programs: they explain why no file is opened. */
enum ring_program {
  /* One has mapped the table. */
  RING_BEGAN = 1,
  /* To one, all paths of the root lead to something else. */
  RING_ELSEWHERE = 2,
  /* One has ended its session: it has another root or user, or may be killed for calls. */
  RING_ENDED = 4,
};

/* Behind the messages, in words: a bit for each file and directory that was changed, by a hash. */
#define RING_WRITTEN_WORDS ((1ULL << 20) / 64)

/* Each part that somebody else writes has a line of the cache to itself. */
struct ring_header {
  char magic[8];
  /* A power of two. */
  uint64_t slots;
  uint8_t space[48];
  /* Messages that were begun. Written by programs. */
  uint64_t head;
  uint8_t more_space[56];
  /* Messages that were taken. Written by the daemon. */
  uint64_t tail;
  uint8_t most_space[56];
  /* Messages that there was no room for. */
  uint64_t lost;
  uint8_t last_space[56];
  /* Kinds of changes, as bits of `ring_change`. Written by programs, seldom. */
  uint64_t written;
  /* Bits of `ring_program`. Written by programs, seldom. */
  uint64_t programs;
};

struct ring {
  uint8_t *base;
  uint64_t slots;
};

/* Maps a ring. False, with errno, as `table_open`. */
bool ring_open(struct ring *ring, const char *path);
void ring_close(const struct ring *ring);
/* Leaves a message. */
void ring_post(const struct ring *ring, enum ring_kind kind, uint64_t generation, uint64_t slot);

/* Notes an event of this program. */
void ring_note(const struct ring *ring, enum ring_program what);

/* Kinds of changes, as bits. */
uint64_t ring_written(const struct ring *ring);
/* Notes something that was changed, and says whether that was done. */
void ring_write(const struct ring *ring, enum ring_change change, uint64_t hash);
bool ring_has(const struct ring *ring, uint64_t hash);
/* Notes in the ring of the next daemon what is noted in that of the one before. */
void ring_pass_on(const struct ring *ring, const struct ring *next);

#endif
