import { Hierarchy, MemoryDriver, type HierarchyOptions, type StorageDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { HoldingDriver, ManualClock } from '@tiered/core/testing';
import type { Access, Prefetcher, Sample, SampleReader } from '@tiered/prefetch';
import { expect, onTestFinished } from 'vitest';

/** A sample with a copy of its bytes. */
export type Copied = Access & { readonly data: Uint8Array };

/** The bytes of object number `i`: unlike those of its neighbours from the first byte on. */
function bytesOf(i: number, size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, at) => (37 * i + at) % 256);
}

/** Keys of so many objects. */
export function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${i}`);
}

/** Objects `0`, `1`, ... of these sizes in memory. */
export async function objects(sizes: readonly number[]): Promise<MemoryDriver> {
  const driver = new MemoryDriver();
  for (const [i, size] of sizes.entries()) await driver.write(`${i}`, bytesOf(i, size), { size });
  return driver;
}

/** A hierarchy, started, that asks the source about each object. Yours to close. */
export function started(
  source: StorageDriver,
  options: Omit<HierarchyOptions, 'source'> = {},
): Promise<Hierarchy> {
  return new Hierarchy({ source, scan: false, ...options }).open();
}

/** As `started`, closed when the test ends. */
export async function over(...args: Parameters<typeof started>): Promise<Hierarchy> {
  const [source] = args;
  const hierarchy = await started(...args);
  onTestFinished(() => released(source, hierarchy.close()));
  return hierarchy;
}

/** A source whose reads wait until they are released. */
export function holding(source: StorageDriver): HoldingDriver {
  return new HoldingDriver(source, { operations: ['readInto'] });
}

/** Lets all reads go that a source holds, until this has settled. */
export async function released<T>(source: StorageDriver, until: Promise<T>): Promise<T> {
  if (source instanceof HoldingDriver) await source.releaseAll();
  return until;
}

/** Lets the test look, or wait, before each read and stat. */
export class WatchedDriver extends InterceptingDriver {
  before: (call: { readonly operation: string; readonly key: string }) => unknown = () => undefined;

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (['stat', 'readInto'].includes(call.operation)) await this.before(call);
    return call.proceed();
  }
}

/** The samples that these accesses must give. */
export function samplesOf(accesses: Iterable<Access>, sizes: readonly number[]): Copied[] {
  return [...accesses].map((access) => {
    const i = Number(access.key);
    return { ...access, data: bytesOf(i, sizes[i] ?? 0) };
  });
}

/** What a sample holds at this moment. */
export function copyOf({ key, epoch, position, data }: Sample): Copied {
  return { key, epoch, position, data: data.slice() };
}

/** The next sample, copied and released; undefined at the end. */
export async function next(reader: SampleReader): Promise<Copied | undefined> {
  const [sample] = await reader.take(1);
  if (sample === undefined) return undefined;
  const copy = copyOf(sample);
  sample.release();
  return copy;
}

/** Everything that is left. */
export async function collect(reader: AsyncIterable<Sample>): Promise<Copied[]> {
  const samples: Copied[] = [];
  for await (const sample of reader) samples.push(copyOf(sample));
  return samples;
}

/** Lets everything happen that needs no time: the event loop turns, no clock moves. */
export function settled(): Promise<void> {
  return new ManualClock().advance(0);
}

/** Asserts that a prefetcher holds nothing and reads nothing. */
export function expectIdle(prefetcher: Prefetcher): void {
  expect(prefetcher.stats()).toMatchObject({ reading: 0, heldBytes: 0, lentBytes: 0 });
}
