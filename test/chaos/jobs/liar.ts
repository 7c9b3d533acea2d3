import type { Registry } from '@tiered/cluster/registry';
import { isTieredError } from '@tiered/core';
import { SOURCE, Stage, TTL_MS } from './stage.js';

/** Milliseconds between two lies. */
const EVERY_MS = 500;
/** The most that a record may say. */
const MOST = 1e15;

let liars = 0;

/** A stage that says that it uses and wants everything, and reads nothing. */
export class Liar extends Stage {
  readonly id = `liar-${liars++}`;
  readonly #ended = new AbortController();
  #registry: Registry | undefined;
  #lying: Promise<void> | undefined;

  override async start(): Promise<boolean> {
    this.#registry = this.around.registry.wayOf(this.process);
    try {
      await this.#registry.open({});
      await this.#say(this.#registry);
    } catch (error) {
      if (!isTieredError(error, 'TIERED_UNAVAILABLE')) throw error;
      await this.#registry.close();
      return false;
    }
    this.#lying = this.#sayForever(this.#registry);
    return true;
  }

  override async close(): Promise<void> {
    this.#ended.abort(new Error('The stage has left.'));
    await this.#lying;
    await this.#registry?.leave(`stage.${this.id}`, this.id, {}).catch(() => undefined);
    await this.#registry?.close();
  }

  async #sayForever(registry: Registry): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.process.clock.sleep(EVERY_MS, signal, { background: true }).catch(() => undefined);
      if (!signal.aborted) await this.#say(registry).catch(() => undefined);
    }
  }

  async #say(registry: Registry): Promise<void> {
    const used = { bytes: MOST, operations: 1 };
    const sources = { [SOURCE]: { used, wanted: {}, waits: 1, requestMs: MOST, measured: MOST } };
    const { job, id } = this;
    const record = { v: 1, kind: 'stage', job, node: 'n', terms: this.around.terms, sources, tiers: {} };
    await registry.put({ slot: `stage.${id}`, owner: id, record }, { ttlMs: TTL_MS });
  }
}
