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

/** The write-ahead log gets a 128th of the quota, within these bounds in pages. */
const LOG_SHARE = 128;
const FEWEST_LOG_PAGES = 8;
const MOST_LOG_PAGES = 1024;
/** A page in the log has a header. */
const LOG_PAGE_BYTES = PAGE_BYTES + 24;
/**
 * A transaction changes at most a quarter of the log's pages, but may always change this many. With fewer, a
 * burst of small copies would cost many transactions.
 */
const TRANSACTION_SHARE = 4;
const LARGEST_TRANSACTION_PAGES = 32;

function logPagesOf(quota: number): number {
  return Math.max(FEWEST_LOG_PAGES, Math.min(MOST_LOG_PAGES, Math.floor(quota / LOG_SHARE / PAGE_BYTES)));
}

/** Maximum number of pages that one transaction may change. */
export function transactionPagesOf(quota: number): number {
  return Math.max(LARGEST_TRANSACTION_PAGES, Math.floor(logPagesOf(quota) / TRANSACTION_SHARE));
}

/**
 * Maximum bytes of the write-ahead log, including the transaction that exceeds its length, which may change
 * many pages.
 */
export function logRoomOf(quota: number): number {
  return (logPagesOf(quota) + transactionPagesOf(quota)) * LOG_PAGE_BYTES;
}

/** An open index that this process is a member of. */
export interface OpenedIndex {
  readonly client: IndexClient;
  readonly joined: ReturnType<Calls['join']>;
  /** The inode of the file before it was opened. If the inode is another one now, the file was replaced. */
  readonly inode: bigint;
}

/** The names of a dataset in an index. */
export interface DatasetName {
  /** Its identity, see `identityOf`. */
  readonly dataset: string;
  /** Its address, see `addressOf`. */
  readonly place: string;
  /** Its former identity, if its copies are to be adopted; see `formerIdentityOf`. */
  readonly formerly: string | undefined;
}

/**
 * Opens the index, and joins its members for a dataset. A damaged index is replaced by a new one if no other
 * process uses it. Damage that shows only later is marked, and found when the index is opened next.
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
 * Makes sure that no other process uses a tier whose index is damaged. If several processes find the damage
 * at the same time, one waits until the others, which fail, have left; they retry later. A process that uses
 * the tier stays, and then no process replaces the index.
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

/** Records which index was found damaged. */
async function markDamaged(path: string, inode: bigint): Promise<void> {
  // On a full or missing disk the mark is lost, and the damage may be found again.
  await writePrivately(markOf(path), String(inode)).catch(() => undefined);
}

/**
 * Replaces the index. There is always a file at the path: a process that opens it now must find the new one,
 * and not make another.
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

/** Writes a file that only its owner can read and write, regardless of the umask. */
async function writePrivately(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: PRIVATE });
  await chmod(path, PRIVATE);
}
