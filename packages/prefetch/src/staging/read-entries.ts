import type { ReadOutcome } from '@tiered/core';
import type { Entry } from './entry.js';
import { keepsChangingError } from '../errors.js';
import { sizeOf, type SampleSource } from '../source.js';

/** Reads of an object that has another size each time. */
const MOST_ANEW = 4;

/**
 * What a producer does: reads what was admitted into the memory it was given. Every entry settles on its own;
 * never rejects.
 */
export async function readEntries(
  source: SampleSource,
  batch: readonly Entry[],
  signal: AbortSignal,
): Promise<void> {
  if (batch.length > 1 && source.readMany !== undefined) await readAtOnce(source, batch, signal);
  else await Promise.all(batch.map((entry) => readOne(source, entry, signal)));
}

async function readAtOnce(source: SampleSource, batch: readonly Entry[], signal: AbortSignal): Promise<void> {
  // A call has one parent only: where samples are followed, that is the first of them.
  const trace = batch[0]?.trace;
  const outcomes = await (trace === undefined
    ? outcomesOf(source, batch, signal)
    : trace.run(() => outcomesOf(source, batch, signal)));
  // No promise for those that are whole, which is nearly all.
  const singly: Promise<void>[] = [];
  batch.forEach((entry, i) => {
    const outcome = outcomes[i];
    if (outcome === undefined) singly.push(readOne(source, entry, signal));
    else if ('error' in outcome) entry.fail(outcome.error);
    else if (isWhole(source, entry.access.key, entry.size, outcome.bytes)) entry.succeed(entry.bytes);
    else singly.push(readOne(source, entry, signal, outcome.bytes));
  });
  if (singly.length > 0) await Promise.all(singly);
}

/**
 * Returns how each read of the batch ended. The list is empty if the batch failed as a whole, which says
 * nothing about its objects.
 */
async function outcomesOf(
  source: SampleSource,
  batch: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const requests = batch.map(({ access, bytes }) => ({ key: access.key, target: bytes }));
  try {
    return (await source.readMany?.(requests, { signal })) ?? [];
  } catch (error) {
    return signal.aborted ? batch.map(() => ({ error })) : [];
  }
}

/** @param read Bytes that a batch has read already. */
function readOne(source: SampleSource, entry: Entry, signal: AbortSignal, read?: number): Promise<void> {
  const { trace } = entry;
  if (trace === undefined) return readNow(source, entry, signal, read);
  return trace.run(() => readNow(source, entry, signal, read));
}

async function readNow(
  source: SampleSource,
  entry: Entry,
  signal: AbortSignal,
  read: number | undefined,
): Promise<void> {
  try {
    const count = read ?? (await source.readInto(entry.access.key, entry.bytes, { signal }));
    if (isWhole(source, entry.access.key, entry.size, count)) entry.succeed(entry.bytes);
    else await readAnew(source, entry, signal);
  } catch (error) {
    entry.fail(error);
  }
}

/** Whether these are all bytes of the object: it may have another size than it had when memory was taken. */
function isWhole(source: SampleSource, key: string, size: number, count: number): boolean {
  return count === size && (sizeOf(source, key) ?? size) === size;
}

async function readAnew(source: SampleSource, entry: Entry, signal: AbortSignal): Promise<void> {
  const { key } = entry.access;
  for (let i = 0; i < MOST_ANEW; i++) {
    const { size } = await source.stat(key, { signal });
    const block = entry.blockFor(size);
    let isRead = false;
    try {
      isRead = isWhole(source, key, size, await source.readInto(key, block.bytes, { signal }));
    } finally {
      if (!isRead) block.free();
    }
    if (isRead) {
      entry.succeed(block.bytes, block);
      return;
    }
  }
  throw keepsChangingError(key, MOST_ANEW);
}
