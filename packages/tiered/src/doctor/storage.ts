import { formatBytes, isTieredError, type ObjectStat, type StorageDriver } from '@tiered/core';
import type { ExaminedLevel } from '../configuration/levels.js';
import { messageOf } from '../words.js';
import { SMALL_BYTES, type DataFacts } from './data.js';
import { findingsOn, type Finding } from './finding.js';
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

/** What a storage answered, or what it failed with. */
export type Asked = { readonly answers: Answers } | { readonly error: unknown };

/** Whether the source can be listed and read. */
export function sourceAnswers(level: ExaminedLevel, asked: Asked): Finding[] {
  const { name, place } = level;
  const { ok, note, problem } = findingsOn(name);
  if ('error' in asked) return [failed(level, asked.error)];
  const { listed, read } = asked.answers;
  if (listed === undefined) {
    return [
      note(`${place} opens, and cannot be listed`, 'Give it a manifest, or give its readers the keys.'),
    ];
  }
  if (listed.objects === 0)
    return [problem(`${place} has no objects`, 'Check the path or the bucket, and the prefix.')];
  if (read === undefined)
    return [note(`${place} was listed in ${listed.ms.toFixed(0)} ms; its first objects are all empty`)];
  const { bytes, ms } = read;
  const found = `${place}: the first ${listed.objects.toLocaleString('en')} objects listed in ${listed.ms.toFixed(0)} ms, the first ${formatBytes(bytes)} of one read in ${ms.toFixed(0)} ms`;
  return [ok(found)];
}

/** Whether a bucket can be a tier, as far as that shows without a write. */
export function bucketAnswers(level: ExaminedLevel, asked: Asked): Finding[] {
  const { name, place } = level;
  const { ok, problem } = findingsOn(name);
  if ('error' in asked) return [failed(level, asked.error)];
  const { listed, isOwn = false } = asked.answers;
  if (isOwn) return [ok(`${place} is a tier's and can be listed; nothing was written to try that`)];
  if (listed?.objects === 0) return [ok(`${place} is empty; nothing was written to try that`)];
  return [
    problem(
      `${place} holds objects that no tier wrote`,
      'Give the tier a bucket or a prefix of its own, because what is in it may be deleted.',
    ),
  ];
}

/** A storage that nothing is known of. */
export function notLookedAt({ name, place }: ExaminedLevel): Finding {
  return findingsOn(name).note(`${place} was not opened, because opening a tier may write to it`);
}

/** A storage that failed, with what to do about it. */
export function failed({ name, place }: ExaminedLevel, error: unknown): Finding {
  const message = messageOf(error);
  return findingsOn(name).problem(`${place}: ${message}`, adviceFor(error, message));
}

const CREDENTIALS =
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile; and that the policy of the ' +
  'bucket allows listing and reading. "anonymous: true" is for public buckets.';

/** What to do, where the message does not say it. */
function adviceFor(error: unknown, message: string): string | undefined {
  if (isTieredError(error, 'TIERED_DEADLINE'))
    return 'Check the network, the endpoint or the mount; --timeout gives it longer.';
  if (!isTieredError(error, 'TIERED_PERMISSION')) return undefined;
  if (message.includes('AWS_ACCESS_KEY_ID')) return undefined;
  return /^s3:/.test(error.driver ?? '') ? CREDENTIALS : 'Check owner and mode, or the credentials.';
}
