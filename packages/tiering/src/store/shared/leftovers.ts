import { isTieredError } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import type { IndexClient } from '../../index/index-client.js';
import type { CopyRef } from '../../tier/copy-rows.js';

/**
 * Attempts of this process to record that it leaves. If all fail, others notice when they next check which
 * members run.
 */
const TRIES_TO_LEAVE = 10;

/**
 * Deletes files from a tier: those of members that do not run any more, and empty segments. Also records that
 * this process leaves.
 */
export class Leftovers {
  readonly #client: IndexClient;
  readonly #home: IndexHome;
  readonly #deleteFile: (row: CopyRef) => Promise<void>;
  /** Files that could not be deleted yet. */
  readonly #again = new Set<CopyRef>();
  readonly #underWay = new Set<Promise<void>>();

  /** @param deleteFile Deletes the file of a copy, and records that in the index. */
  constructor(client: IndexClient, home: IndexHome, deleteFile: (row: CopyRef) => Promise<void>) {
    this.#client = client;
    this.#home = home;
    this.#deleteFile = deleteFile;
  }

  /**
   * Takes over the unfinished copies of dead members, and those that belong to no member. Their files are
   * deleted in the background; their bytes count until then.
   * @param patiently Repeats a call while another process writes, for as long as there is time.
   */
  async clearUp(patiently: <T>(call: () => Promise<T>) => Promise<T>): Promise<void> {
    const home = this.#home;
    const dead: string[] = [];
    for (const id of await patiently(() => this.#client.call('members', undefined)))
      if (id !== home.member && !(await home.isRunning(id))) dead.push(id);
    // First, before the bytes of their temporary files are granted to others.
    for (const id of dead) await home.clearUp(id);
    const unfinished = await patiently(() => this.#client.call('inherit', { member: home.member, dead }));
    this.delete(unfinished);
  }

  /** Deletes files; failures are retried. */
  delete(rows: readonly CopyRef[]): void {
    for (const row of rows) {
      const deletion = this.#delete(row).finally(() => this.#underWay.delete(deletion));
      this.#underWay.add(deletion);
    }
  }

  /** The deletions in progress that `delete` began. */
  get underWay(): readonly Promise<void>[] {
    return [...this.#underWay];
  }

  /** Resolves once no deletion that `delete` began is in progress. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Retries the deletions that failed before. */
  async tryAgain(): Promise<void> {
    for (const row of [...this.#again]) await this.#delete(row);
  }

  /** Records that this process does not use the tier any more. Never rejects. */
  async leave(): Promise<void> {
    for (let tries = 0; tries < TRIES_TO_LEAVE; tries++) {
      try {
        await this.#client.call('leave', { member: this.#home.member });
        return;
      } catch (error) {
        if (!isTieredError(error, 'TIERED_UNAVAILABLE')) return;
      }
    }
  }

  async #delete(row: CopyRef): Promise<void> {
    this.#again.delete(row);
    await this.#deleteFile(row).catch(() => this.#again.add(row));
  }
}
