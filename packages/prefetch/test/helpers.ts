import {
  Hierarchy,
  MemoryDriver,
  type ErrorCode,
  type HierarchyOptions,
  type StorageDriver,
} from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { ManualClock } from '@tiered/core/testing';
import type { Access, Prefetcher, Sample, SampleReader } from '@tiered/prefetch';
import { expect, onTestFinished } from 'vitest';

export { listenersOn, outcomeOf } from '@tiered/core/testing';

/** What the bytes of a sample are rounded up to in memory. */
const ALIGNMENT = 64;

/** Bytes of the staging buffer that a sample of this size takes. */
export function charge(size: number): number {
  return Math.max(ALIGNMENT, Math.ceil(size / ALIGNMENT) * ALIGNMENT);
}

/** A sample with a copy of its bytes. */
export type Copied = Access & { readonly data: Uint8Array };

/** For `toThrow(...)` and `rejects.toEqual(...)`: an error with this code. */
export function withCode(code: ErrorCode): Error {
  return expect.objectContaining({ code }) as Error;
}

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
  onTestFinished(async () => {
    const closed = hierarchy.close();
    if (source instanceof HoldingDriver) while (source.held.length > 0) await source.release();
    await closed;
  });
  return hierarchy;
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
export async function next(reader: SampleReader, signal?: AbortSignal): Promise<Copied | undefined> {
  const [sample] = await reader.take(1, { signal });
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

/** Counts reads of the source, and lets the test look, or wait, while each is under way. */
export class WatchedDriver extends InterceptingDriver {
  /** Keys of the reads that began, in order. */
  readonly started: string[] = [];
  reading = 0;
  mostReading = 0;
  /** Called once a read or a stat of an object is under way. */
  during: (call: { readonly operation: string; readonly key: string }) => unknown = () => undefined;

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'stat') await this.during(call);
    if (call.operation !== 'readInto') return call.proceed();
    this.started.push(call.key);
    this.reading += 1;
    this.mostReading = Math.max(this.mostReading, this.reading);
    try {
      await this.during(call);
      return await call.proceed();
    } finally {
      this.reading -= 1;
    }
  }
}

/** A source whose reads wait until they are released, and do not listen to their signal. */
export class HoldingDriver extends WatchedDriver {
  readonly #held: { readonly key: string; readonly release: () => void }[] = [];

  override during = ({ operation, key }: { operation: string; key: string }): unknown =>
    operation === 'readInto' && new Promise<void>((release) => this.#held.push({ key, release }));

  /** Keys of the reads that wait. */
  get held(): string[] {
    return this.#held.map(({ key }) => key);
  }

  /** Lets all reads go, until this has settled. */
  async releaseAll<T>(until: Promise<T>): Promise<T> {
    await settled();
    while (this.#held.length > 0) await this.release();
    return until;
  }

  /** Lets the read of a key go, or the one that has waited longest, and all that follows happen. */
  async release(key = this.held[0]): Promise<void> {
    const index = this.#held.findIndex((held) => held.key === key);
    expect(index, `${key} is being read`).toBeGreaterThanOrEqual(0);
    this.#held.splice(index, 1)[0]?.release();
    await settled();
  }
}
