import type { OperationOptions, ReadOutcome } from '@tiered/core';
import { inSingleRanges, type ReadRequest } from '@tiered/core/driver';
import type { FileReader } from './file-reader.js';
import { readRest } from './read-rest.js';

type ReadMany = (
  requests: readonly ReadRequest[],
  options: OperationOptions,
) => Promise<readonly ReadOutcome[]>;

/**
 * Reads a batch with parts of files that hold many objects. Such a file is kept open. While storage is as
 * fast as memory, one blocking system call reads a part, which costs less than opening the file in a thread.
 * Reads that are not of such parts, or may not block, are left to `others`.
 * @param others Reads a batch.
 */
export async function readParts(
  reader: FileReader,
  batch: readonly ReadRequest[],
  options: OperationOptions,
  others: ReadMany,
): Promise<readonly ReadOutcome[]> {
  const { requests, join } = inSingleRanges(batch);
  const outcomes: ReadOutcome[] = [];
  const unread: number[] = [];
  for (const [index, { isPart, key, target, offset, version }] of requests.entries()) {
    let count: number | undefined;
    if (isPart === true && options.signal?.aborted !== true) {
      const range = { offset, version };
      count = reader.readIntoBlocking(key, target, range);
      if (count === undefined && reader.isTurnDue)
        count = await reader.afterTurn(() => reader.readIntoBlocking(key, target, range));
    }
    if (count === undefined) unread.push(index);
    outcomes.push({ bytes: count ?? 0 });
  }
  return join(await readRest(requests, unread, outcomes, (rest) => others(rest, options)));
}
