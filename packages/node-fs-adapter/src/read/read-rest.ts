import type { ReadOutcome } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';

/**
 * Has the reads of a batch made that are left, and puts their outcomes in place.
 * @param unread Which of the requests these are.
 * @param outcomes Of all requests; changed.
 * @param read Reads a batch.
 */
export async function readRest(
  requests: readonly ReadRequest[],
  unread: readonly number[],
  outcomes: ReadOutcome[],
  read: (rest: readonly ReadRequest[]) => Promise<readonly ReadOutcome[]>,
): Promise<readonly ReadOutcome[]> {
  if (unread.length === 0) return outcomes;
  const rest = unread.flatMap((index) => requests[index] ?? []);
  const found = (await read(rest)).values();
  for (const index of unread) {
    const { value } = found.next();
    if (value !== undefined) outcomes[index] = value;
  }
  return outcomes;
}
