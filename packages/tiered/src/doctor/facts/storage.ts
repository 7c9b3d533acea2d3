import { isTieredError, type ObjectStat, type StorageDriver } from '@tiered/core';
import { within, type Patience } from '../within.js';

/** How a storage answered to being opened, listed and read a little. */
export interface Answers {
  /** Of the first page of its listing. Undefined if it cannot be listed. */
  readonly listed?: { readonly objects: number; readonly ms: number };
  /** Of a source, as far as it was listed in half of the time. */
  readonly data?: DataFacts;
  /** Of the first bytes of one object. Undefined if there was none. */
  readonly read?: { readonly bytes: number; readonly ms: number };
  /** Of a tier that keeps no index: whether it is one already. */
  readonly isOwn?: boolean;
}

/** Objects of a source. */
export interface DataFacts {
  readonly objects: number;
  readonly bytes: number;
  /** Of them, those that a packed tier gathers. */
  readonly small: number;
  /** Whether these are all. */
  readonly isAll: boolean;
}

/** The largest object that is gathered with others where the layout is packed. */
export const SMALL_BYTES = 256 * 1024;
/** The part of the time in which the data is counted. */
const COUNTING = 0.5;

/** The beginning of an object that is read: enough for latency, little for bandwidth. */
const BYTES_READ = 64 * 1024;
/** The object that names the owner of a tier without an index. */
const MARKER = '.tiered/owner';

/**
 * Opens a source, lists its first page, reads the beginning of one object, counts as many objects as are
 * listed in half of the time, and closes it.
 */
export function askSource(driver: StorageDriver, patience: Patience): Promise<Answers> {
  const { clock, timeoutMs } = patience;
  return opened(driver, patience, async (signal) => {
    if (!driver.capabilities.list) return {};
    const begun = clock.now();
    const page = await firstPage(driver, signal);
    const listed = { objects: page.length, ms: clock.now() - begun };
    const object = page.find(({ size }) => size > 0);
    if (object === undefined) return { listed };
    const beforeRead = clock.now();
    const length = Math.min(object.size, BYTES_READ);
    const { byteLength: bytes } = await driver.read(object.key, { offset: 0, length, signal });
    const read = { bytes, ms: clock.now() - beforeRead };
    return { listed, read, data: await counted(driver, begun + COUNTING * timeoutMs, patience, signal) };
  });
}

/** Counts until a moment of the clock. */
async function counted(
  driver: StorageDriver,
  until: number,
  { clock }: Patience,
  signal: AbortSignal,
): Promise<DataFacts> {
  const sum = { objects: 0, bytes: 0, small: 0 };
  for await (const page of driver.list({ signal })) {
    for (const { size } of page) {
      sum.objects += 1;
      sum.bytes += size;
      if (size <= SMALL_BYTES) sum.small += 1;
    }
    if (clock.now() >= until) return { ...sum, isAll: false };
  }
  return { ...sum, isAll: true };
}

/** Opens a bucket that is to be a tier, and looks whether it is empty, or one already. */
export function askBucket(driver: StorageDriver, patience: Patience): Promise<Answers> {
  const { clock } = patience;
  return opened(driver, patience, async (signal) => {
    const begun = clock.now();
    const page = await firstPage(driver, signal);
    const listed = { objects: page.length, ms: clock.now() - begun };
    return { listed, isOwn: page.length > 0 && (await isThere(driver, MARKER, signal)) };
  });
}

async function isThere(driver: StorageDriver, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    await driver.stat(key, { signal });
    return true;
  } catch (error) {
    if (isTieredError(error, 'TIERED_NOT_FOUND')) return false;
    throw error;
  }
}

/** The first page that has objects. */
async function firstPage(driver: StorageDriver, signal: AbortSignal): Promise<readonly ObjectStat[]> {
  for await (const page of driver.list({ signal })) if (page.length > 0) return page;
  return [];
}

async function opened<T>(
  driver: StorageDriver,
  patience: Patience,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await within(patience, async (signal) => {
      await driver.open({ signal });
      return work(signal);
    });
  } finally {
    await driver.close();
  }
}
