import { systemClock, type OperationOptions, type StorageDriver } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import type { Checksum } from '@tiered/core/internal';
import { copyOf } from '../index/copy-record.js';
import { IndexClient } from '../index/index-client.js';
import type { IndexSurvey } from '../index/index-messages.js';
import type { CopyRow } from '../tier/copy-rows.js';
import { BEFORE_ALL } from '../index/indexed-copies.js';
import { directoryBytesOf } from '../store/shared/accounts.js';
import { foreignIndexError } from '../tier/errors.js';
import { SurveyedCopy } from './surveyed-copy.js';
import type { TierSummary, TierSurvey } from './tier-survey.js';

/** Copies per page. */
const PAGE = 1000;
/** Pages of the log, which a survey never writes. */
const LOG_PAGES = 8;
/** The dataset of segments. All other datasets together are those of all sources. */
const NO_DATASET = 0;

/** The survey of a tier with an index. It reads the index without becoming a member. */
export class IndexedSurvey implements TierSurvey {
  readonly #driver: StorageDriver;
  readonly #checksum: Checksum;
  readonly #home: IndexHome;
  readonly #client: IndexClient;
  #closed: Promise<void> | undefined;

  private constructor(driver: StorageDriver, checksum: Checksum, home: IndexHome, client: IndexClient) {
    this.#driver = driver;
    this.#checksum = checksum;
    this.#home = home;
    this.#client = client;
  }

  /** @param driver Open; the survey closes it. */
  static async open(
    driver: StorageDriver,
    checksum: Checksum,
    { signal }: OperationOptions,
  ): Promise<IndexedSurvey> {
    const home = await driver.openIndex({ signal });
    const { path } = home;
    const client = new IndexClient({ path, durable: false, logPages: LOG_PAGES }, driver.name, systemClock);
    const survey = new IndexedSurvey(driver, checksum, home, client);
    try {
      await survey.#look();
      return survey;
    } catch (error) {
      await client.end();
      await home.close();
      throw error;
    }
  }

  async summary(): Promise<TierSummary> {
    const found = await this.#look();
    if (found === undefined) return { usedBytes: 0, quotaBytes: undefined, datasets: [], members: [] };
    const { state, members, datasets, unfinished } = found;
    const { occupied, claimed, directories, fileBytes } = state;
    const overhead = directoryBytesOf(this.#home, directories);
    const running = await Promise.all(members.map(({ id }) => this.#home.isRunning(id)));
    return {
      usedBytes: occupied - claimed + overhead + (this.#home.isOnTier ? fileBytes : 0),
      quotaBytes: members.length === 0 ? undefined : state.quota,
      datasets: datasets.map(({ name, copies, bytes }) => ({ name, copies, bytes })),
      members: members.map(({ id, quota, leased }, i) => ({
        id,
        isRunning: running[i] === true,
        quotaBytes: quota,
        leasedBytes: leased,
        unfinishedBytes: unfinished.find(({ member }) => member === id)?.occupied ?? 0,
      })),
    };
  }

  async find(key: string): Promise<readonly SurveyedCopy[]> {
    const names = await this.#datasets();
    const rows = await Promise.all(
      [...names.keys()].map((dataset) => this.#client.call('find', { dataset, key })),
    );
    return rows.flat().map((row) => this.#surveyed(row, names));
  }

  async *copies({ signal }: OperationOptions = {}): AsyncGenerator<readonly SurveyedCopy[], void, undefined> {
    const names = await this.#datasets();
    if (names.size === 0) return;
    for (let after = BEFORE_ALL; ;) {
      signal?.throwIfAborted();
      const page = { dataset: NO_DATASET, others: true, after, limit: PAGE };
      const rows = await this.#client.call('page', page);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map((row) => this.#surveyed(row, names));
      after = last;
    }
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#client.end();
    await this.#home.close();
    await this.#driver.close();
  }

  /** Undefined if the tier was never used. */
  async #look(): Promise<IndexSurvey | undefined> {
    const found = await this.#client.call('survey', undefined);
    if (found === 'foreign') throw foreignIndexError({ driver: this.#driver });
    return found;
  }

  /** The names of the sources, by number. */
  async #datasets(): Promise<ReadonlyMap<number, string>> {
    const found = await this.#client.call('datasets', undefined);
    return new Map(found.map(({ id, name }) => [id, name]));
  }

  #surveyed(row: CopyRow, names: ReadonlyMap<number, string>): SurveyedCopy {
    const copy = copyOf(row, names.get(row.dataset) ?? '', this.#checksum);
    return new SurveyedCopy(copy, this.#driver, this.#checksum);
  }
}
