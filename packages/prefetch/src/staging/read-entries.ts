import type { ReadOutcome } from '@tiered/core';
import { keepsChangingError } from '../errors.js';
import { askedSizeOf, type SampleRequest, type SampleSource } from '../request.js';
import type { Entry } from './entry.js';

/** Most reads of a request that has another size each time. */
const MOST_ANEW = 4;

/**
 * The work of a producer: reads admitted entries into their memory. Each entry settles on its own. Never
 * rejects.
 * @param source The source of keys, if the entries are read by key.
 */
export async function readEntries(
  source: Pick<SampleSource, 'readMany'> | undefined,
  batch: readonly Entry[],
  signal: AbortSignal,
): Promise<void> {
  if (batch.length > 1 && source?.readMany !== undefined) await readAtOnce(source, batch, signal);
  else await Promise.all(batch.map((entry) => readOne(entry, signal)));
}

async function readAtOnce(
  source: Pick<SampleSource, 'readMany'>,
  batch: readonly Entry[],
  signal: AbortSignal,
): Promise<void> {
  // A call has only one parent: of traced samples, the first one.
  const trace = batch[0]?.trace;
  const outcomes = await (trace === undefined
    ? outcomesOf(source, batch, signal)
    : trace.run(() => outcomesOf(source, batch, signal)));
  // Whole entries, which are nearly all, cost no promise.
  const singly: Promise<void>[] = [];
  batch.forEach((entry, i) => {
    const outcome = outcomes[i];
    if (outcome === undefined) singly.push(readOne(entry, signal));
    else if ('error' in outcome) entry.fail(outcome.error);
    else if (isWhole(entry.request, entry.size, outcome.bytes)) entry.succeed(entry.bytes);
    else singly.push(readOne(entry, signal, outcome.bytes));
  });
  if (singly.length > 0) await Promise.all(singly);
}

/**
 * Returns how each read of the batch ended. The list is empty if the batch failed as a whole, which says
 * nothing about its objects.
 */
async function outcomesOf(
  source: Pick<SampleSource, 'readMany'>,
  batch: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const reads = batch.map(({ request, bytes }) => ({ key: request.key, target: bytes }));
  try {
    return (await source.readMany?.(reads, { signal })) ?? [];
  } catch (error) {
    return signal.aborted ? batch.map(() => ({ error })) : [];
  }
}

/** @param read Bytes that a batch has read already. */
function readOne(entry: Entry, signal: AbortSignal, read?: number): Promise<void> {
  const { trace } = entry;
  if (trace === undefined) return readNow(entry, signal, read);
  return trace.run(() => readNow(entry, signal, read));
}

async function readNow(entry: Entry, signal: AbortSignal, read: number | undefined): Promise<void> {
  const { request, bytes, size } = entry;
  try {
    const count = read ?? (await request.readInto(bytes, { signal }));
    if (isWhole(request, size, count)) entry.succeed(bytes);
    else await readAnew(entry, signal);
  } catch (error) {
    entry.fail(error);
  }
}

/** Whether these are all bytes of a request, whose size may have changed since memory was taken. */
function isWhole(request: SampleRequest, size: number, count: number): boolean {
  return count === size && (request.size ?? size) === size;
}

async function readAnew(entry: Entry, signal: AbortSignal): Promise<void> {
  const { request } = entry;
  for (let i = 0; i < MOST_ANEW; i++) {
    const size = await askedSizeOf(request, { signal });
    const block = entry.blockFor(size);
    let isRead = false;
    try {
      isRead = isWhole(request, size, await request.readInto(block.bytes, { signal }));
    } finally {
      if (!isRead) block.free();
    }
    if (isRead) {
      entry.succeed(block.bytes, block);
      return;
    }
  }
  throw keepsChangingError(request.key, MOST_ANEW);
}
