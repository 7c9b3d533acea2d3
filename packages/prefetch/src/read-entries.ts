import { invariant } from '@tiered/core/internal';
import { blockOfItsOwn } from './arena.js';
import type { Entry } from './entry.js';
import { sizeOf } from './look-ahead.js';
import type { SampleSource } from './source.js';

/** What a producer does: reads what was admitted into the memory it was given. Every entry settles; never rejects. */
export async function readEntries(
  source: SampleSource,
  batch: readonly Entry[],
  signal: AbortSignal,
): Promise<void> {
  try {
    if (batch.length > 1 && source.readMany !== undefined) await readAtOnce(source, batch, signal);
    else await Promise.all(batch.map((entry) => readOne(source, entry, signal)));
  } catch (error) {
    for (const entry of batch) if (entry.state === 'reading') entry.fail(error);
  }
}

async function readAtOnce(source: SampleSource, batch: readonly Entry[], signal: AbortSignal): Promise<void> {
  const requests = batch.map(({ access, bytes }) => ({ key: access.key, target: bytes }));
  const outcomes = (await source.readMany?.(requests, { signal })) ?? [];
  for (const [i, entry] of batch.entries()) {
    const outcome = outcomes[i];
    invariant(outcome !== undefined, 'readMany gave fewer outcomes than there were requests');
    if ('error' in outcome) entry.fail(outcome.error);
    else if (isWhole(source, entry, outcome.bytes)) entry.succeed(entry.bytes);
    else await readAnew(source, entry, signal);
  }
}

async function readOne(source: SampleSource, entry: Entry, signal: AbortSignal): Promise<void> {
  try {
    const count = await source.readInto(entry.access.key, entry.bytes, { signal });
    if (isWhole(source, entry, count)) entry.succeed(entry.bytes);
    else await readAnew(source, entry, signal);
  } catch (error) {
    entry.fail(error);
  }
}

/** Whether these are all bytes of the object: it may have another size than it had when it was admitted. */
function isWhole(source: SampleSource, { access, size }: Entry, count: number): boolean {
  return count === size && (sizeOf(source, access.key) ?? size) === size;
}

async function readAnew(source: SampleSource, entry: Entry, signal: AbortSignal): Promise<void> {
  const { key } = entry.access;
  const { size } = await source.stat(key, { signal });
  const block = blockOfItsOwn(size);
  const count = await source.readInto(key, block.bytes, { signal });
  entry.succeed(block.bytes.subarray(0, count), block);
}
