import { isTieredError, type IndexHome } from '@tiered/core';
import type { IndexClient } from '../index/index-client.js';
import type { CopyRef } from '../index/index-messages.js';

/** How often it is tried to say that this process leaves; if it cannot be said, others see it when they next look who runs. */
const TRIES_TO_LEAVE = 10;

/**
 * What is left on a tier for this process to delete, by members that are not running any more, and as segments that nothing is in; and the
 * leaving of this process.
 */
export class Leftovers {
  readonly #client: IndexClient;
  readonly #home: IndexHome;
  readonly #deleteFile: (row: CopyRef) => Promise<void>;
  /** What could not be deleted yet. */
  readonly #again = new Set<CopyRef>();
  readonly #underWay = new Set<Promise<void>>();

  /** @param deleteFile Deletes the file of a copy, and says so in the index. */
  constructor(client: IndexClient, home: IndexHome, deleteFile: (row: CopyRef) => Promise<void>) {
    this.#client = client;
    this.#home = home;
    this.#deleteFile = deleteFile;
  }

  /**
   * Takes over what is left by those that do not run, and by nobody.
   * @param patiently Makes a call again while another process writes, for as long as there is time.
   */
  async clearUp(patiently: <T>(call: () => Promise<T>) => Promise<T>): Promise<void> {
    const home = this.#home;
    const dead: string[] = [];
    for (const id of await this.#client.call('members', undefined))
      if (id !== home.member && !(await home.isRunning(id))) dead.push(id);
    // Before the bytes of their temporary files are anybody else's.
    for (const id of dead) await home.clearUp(id);
    const unfinished = await patiently(() => this.#client.call('inherit', { member: home.member, dead }));
    for (const row of unfinished) await this.#delete(row);
  }

  /** Deletes files; what fails is tried again. */
  delete(rows: readonly CopyRef[]): void {
    for (const row of rows) {
      const deletion = this.#delete(row).finally(() => this.#underWay.delete(deletion));
      this.#underWay.add(deletion);
    }
  }

  /** What `delete` was called for, and is being deleted. */
  get underWay(): readonly Promise<void>[] {
    return [...this.#underWay];
  }

  /** Resolves when nothing is being deleted that `delete` was called for. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Deletes what could not be deleted before. */
  async tryAgain(): Promise<void> {
    for (const row of [...this.#again]) await this.#delete(row);
  }

  /** Says that this process uses the tier no more. Never rejects. */
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
