import { isTieredError, type OperationOptions, type StorageDriver } from '@tiered/core';
import { tagOf, type Checksum } from '@tiered/core/internal';
import pLimit from 'p-limit';
import { MARKER, notOurs } from '../store/bucket/owner.js';
import { readTrailer } from '../store/bucket/trailer.js';
import type { Copy } from '../tier/tier-store.js';
import { SurveyedCopy } from './surveyed-copy.js';
import type { TierSummary, TierSurvey } from './tier-survey.js';

/** Concurrent requests. */
const CONCURRENCY = 16;

/**
 * The survey of a tier without an index. It lists the storage, and reads each copy's description of itself.
 */
export class BucketSurvey implements TierSurvey {
  readonly #driver: StorageDriver;
  readonly #checksum: Checksum;
  readonly #limit = pLimit(CONCURRENCY);
  #closed: Promise<void> | undefined;

  /** @param driver Open; the survey closes it. */
  constructor(driver: StorageDriver, checksum: Checksum) {
    this.#driver = driver;
    this.#checksum = checksum;
  }

  async summary(options: OperationOptions = {}): Promise<TierSummary> {
    const datasets = new Map<string, { name: string; copies: number; bytes: number }>();
    let usedBytes = 0;
    for await (const page of this.#pages(options)) {
      for (const { copy, stored } of page) {
        usedBytes += stored;
        const sums = datasets.get(copy.dataset) ?? { name: copy.dataset, copies: 0, bytes: 0 };
        sums.copies += 1;
        sums.bytes += copy.bytes;
        datasets.set(copy.dataset, sums);
      }
    }
    return { usedBytes, quotaBytes: undefined, datasets: [...datasets.values()], members: [] };
  }

  async find(key: string, options: OperationOptions = {}): Promise<readonly SurveyedCopy[]> {
    const found: SurveyedCopy[] = [];
    for await (const page of this.copies(options)) found.push(...page.filter((copy) => copy.key === key));
    return found;
  }

  async *copies(options: OperationOptions = {}): AsyncGenerator<readonly SurveyedCopy[], void, undefined> {
    for await (const page of this.#pages(options)) yield page.map(({ copy }) => copy);
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#driver.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @throws TieredError `TIERED_DIRECTORY_NOT_OURS` if the storage holds anything but copies. */
  async *#pages({ signal }: OperationOptions) {
    for await (const page of this.#driver.list({ signal })) {
      const copies = page.filter(({ key }) => key !== MARKER);
      const foreign = copies.find(({ key }) => tagOf(key) === undefined);
      if (foreign !== undefined) throw notOurs(this.#driver, foreign.key);
      const described = await Promise.all(
        copies.map(({ key, size }) => this.#limit(() => this.#describe(key, size))),
      );
      yield described.filter((one) => one !== undefined);
    }
  }

  /** Undefined if the copy is gone. */
  async #describe(name: string, stored: number) {
    const damaged: Copy = {
      ...{ name, tag: tagOf(name), dataset: '', key: name, version: '', bytes: stored },
      content: undefined,
    };
    const copy = await readTrailer(this.#driver, name, stored, this.#checksum).then(
      ({ dataset, key, version, ...content }): Copy => ({
        ...{ name, tag: tagOf(name), dataset, key, version, bytes: content.bytes, content },
        tailBytes: stored - content.bytes,
      }),
      (error: unknown) => {
        if (isTieredError(error, 'TIERED_DATA_CORRUPT')) return damaged;
        if (isTieredError(error, 'TIERED_NOT_FOUND')) return undefined;
        throw error;
      },
    );
    return copy && { copy: new SurveyedCopy(copy, this.#driver, this.#checksum), stored };
  }
}
