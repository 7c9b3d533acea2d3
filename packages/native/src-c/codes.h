/* Outcomes below 0: a negative errno, or one of these. src/outcomes.ts has the same numbers. */
#ifndef TIERED_CODES_H
#define TIERED_CODES_H

enum {
  NOT_A_FILE = -10001,
  OUTSIDE = -10002,
  OTHER_VERSION = -10003,
  ABORTED = -10004,
  DETACHED = -10005,
  INVALID_KEY = -10006,
};

#endif
