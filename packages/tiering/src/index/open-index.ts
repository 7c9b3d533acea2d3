import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { isTieredError, TieredError, type Clock, type Tier } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import { IndexClient } from './index-client.js';
import { markOf } from './thread/inode.js';
import { PAGE_BYTES } from './thread/schema.js';
import type { Calls } from './index-messages.js';
import { damagedError, foreignIndexError } from '../tier/errors.js';
import type { Patiently } from './until-free.js';

/** The mode of an index. */
const PRIVATE = 0o600;

/** A 128th of the quota is for the write-ahead log, within these bounds, in pages. */
const LOG_SHARE = 128;
const FEWEST_LOG_PAGES = 8;
const MOST_LOG_PAGES = 1024;
/** A page in the log has a header. */
const LOG_PAGE_BYTES = PAGE_BYTES + 24;
/**
 * A transaction changes at most a quarter of those pages, but may always change this many. With fewer, a
 * burst of small copies would cost many transactions.
 */
const TRANSACTION_SHARE = 4;
const LARGEST_TRANSACTION_PAGES = 32;

function logPagesOf(quota: number): number {
  return Math.max(FEWEST_LOG_PAGES, Math.min(MOST_LOG_PAGES, Math.floor(quota / LOG_SHARE / PAGE_BYTES)));
}

/** Pages that one transaction may change. */
export function transactionPagesOf(quota: number): number {
  return Math.max(LARGEST_TRANSACTION_PAGES, Math.floor(logPagesOf(quota) / TRANSACTION_SHARE));
}

/**
 * Bytes that the write-ahead log may reach, including the transaction that makes it too long, which may
 * change many pages.
 */
export function logRoomOf(quota: number): number {
  return (logPagesOf(quota) + transactionPagesOf(quota)) * LOG_PAGE_BYTES;
}

/** An index that is open, and that this process is a member of. */
export interface OpenedIndex {
  readonly client: IndexClient;
  readonly joined: ReturnType<Calls['join']>;
  /**
   * The inode of the file that was there before it was opened. If it is another one now, somebody has put it
   * there meanwhile.
   */
  readonly inode: bigint;
}

/** What a dataset is called in an index. */
export interface DatasetName {
  /** See `identityOf`. */
  readonly dataset: string;
  /** Where it is, see `addressOf`. */
  readonly place: string;
  /** What it was called before, if its copies are to be taken over; see `formerIdentityOf`. */
  readonly formerly: string | undefined;
}

/**
 * Opens the index, and joins its members for a dataset. A damaged one is begun anew if nobody else uses it.
 * Some damage shows only later: it is marked, and found by who opens the index next.
 */
export async function openIndex(
  home: IndexHome,
  tier: Tier,
  { dataset, place, formerly }: DatasetName,
  clock: Clock,
  patiently: Patiently,
): Promise<OpenedIndex> {
  for (let isRetry = false; ; isRetry = true) {
    const { path, durable, member } = home;
    const joining = { member, quota: tier.quotaBytes, dataset, place, formerly };
    let inode = 0n;
    const logPages = logPagesOf(tier.quotaBytes);
    const client = new IndexClient({ path, durable, logPages }, tier.driver.name, clock, () =>
      markDamaged(path, inode),
    );
    try {
      inode = await patiently(() => client.call('inode', undefined));
      if (await patiently(() => client.call('isMarked', { inode }))) throw damagedError(tier);
      if ((await patiently(() => client.call('open', undefined))) === 'foreign')
        throw foreignIndexError(tier);
      const joined = await patiently(() => client.call('join', joining));
      return { client, joined, inode };
    } catch (error) {
      await client.end();
      if (isRetry || !isTieredError(error, 'TIERED_DATA_CORRUPT')) throw error;
      await patiently(() => assertAlone(home, tier));
      await beginAnew(path, tier);
    }
  }
}

/**
 * Makes sure that nobody else uses a tier whose index is damaged. If several processes find that at the same
 * time, one waits until the others, which fail, have left; they try again later. A process that uses the tier
 * stays, and then nobody begins the index anew.
 */
async function assertAlone(home: IndexHome, tier: Tier): Promise<void> {
  const others = await home.others();
  if (others.length === 0) return;
  const error = damagedError(tier);
  if (others.some((other) => other < home.member)) throw error;
  throw new TieredError('TIERED_UNAVAILABLE', error.message, {
    driver: tier.driver.name,
    operation: 'openIndex',
    retryable: true,
  });
}

/** Says which index was found damaged. */
async function markDamaged(path: string, inode: bigint): Promise<void> {
  // On a full disk, or one that is gone, it may be found damaged again.
  await writePrivately(markOf(path), String(inode)).catch(() => undefined);
}

/**
 * There is always a file under the path: a process that comes now must find the new one, and not make
 * another.
 */
async function beginAnew(path: string, { driver }: Tier): Promise<void> {
  try {
    for (const file of [`${path}-wal`, `${path}-shm`]) await rm(file, { force: true });
    await writePrivately(`${path}.new`, '');
    await rename(`${path}.new`, path);
    await rm(markOf(path), { force: true });
  } catch (cause) {
    const message = `${driver.name}: the index of the tier is damaged, and could not be begun anew: ${String(cause)}.`;
    const options = { cause, driver: driver.name, operation: 'openIndex', retryable: true } as const;
    throw new TieredError('TIERED_IO', message, options);
  }
}

/** Only the owner may read it and write to it, whatever the umask is. */
async function writePrivately(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: PRIVATE });
  await chmod(path, PRIVATE);
}
