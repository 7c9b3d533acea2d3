import fs from 'node:fs';
import { isTieredError, type Clock, type IndexHome, type Tier } from '@tiered/core';
import { IndexClient } from '../index-client.js';
import { damagedError, foreignIndexError } from '../tier-errors.js';

/** How long a start waits for another process that writes, in milliseconds. */
const PATIENCE_MS = 2000;
const PAUSE_MS = 10;

/** A 128th of the quota is for the write-ahead log, but not less than this and not more, in pages. */
const LOG_SHARE = 128;
const FEWEST_LOG_PAGES = 8;
const MOST_LOG_PAGES = 128;
const PAGE_BYTES = 4096;
/** A page in the log has a header. */
const LOG_PAGE_BYTES = PAGE_BYTES + 24;
const LARGEST_TRANSACTION_PAGES = 32;

function logPagesOf(quota: number): number {
  return Math.max(FEWEST_LOG_PAGES, Math.min(MOST_LOG_PAGES, Math.floor(quota / LOG_SHARE / PAGE_BYTES)));
}

/** Bytes that the write-ahead log may come to: with the transaction that makes it too long, which may change many pages. */
export function logRoomOf(quota: number): number {
  return (logPagesOf(quota) + LARGEST_TRANSACTION_PAGES) * LOG_PAGE_BYTES;
}

/** An index that is open. */
export interface OpenedIndex {
  readonly client: IndexClient;
  /** Of the file that was there before it was opened: if another is there now, somebody may have put it there meanwhile. */
  readonly inode: bigint;
}

/** Opens the index; one that is damaged is begun anew if nobody else uses it. */
export async function openIndex(
  home: IndexHome,
  tier: Tier,
  patiently: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<OpenedIndex> {
  for (let isRetry = false; ; isRetry = true) {
    const { path, durable } = home;
    const inode = inodeOf(path);
    const client = new IndexClient(
      { path, durable, logPages: logPagesOf(tier.quotaBytes) },
      tier.driver.name,
    );
    try {
      if ((await patiently(() => client.call('open', undefined))) === 'foreign')
        throw foreignIndexError(tier);
      return { client, inode };
    } catch (error) {
      await client.end();
      if (isRetry || !isTieredError(error, 'TIERED_DATA_CORRUPT')) throw error;
      if ((await home.others()).length > 0) throw damagedError(tier);
      for (const file of [home.path, `${home.path}-wal`, `${home.path}-shm`])
        fs.rmSync(file, { force: true });
      fs.closeSync(fs.openSync(home.path, 'wx', 0o600));
    }
  }
}

/** Makes a call again while another process writes, for so long as a start may take. */
export async function untilFree<T>(
  call: () => Promise<T>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<T> {
  const until = clock.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isTieredError(error, 'TIERED_UNAVAILABLE') || !error.retryable || clock.now() > until) throw error;
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

/** Which file is under a path; 0 if none. Nothing is opened: closing it would end the database's locks. */
export function inodeOf(path: string): bigint {
  try {
    return fs.statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? 0n;
  } catch {
    return 0n;
  }
}
