import { TieredError, type Hierarchy } from '@tiered/core';
import { copyName } from '@tiered/core/internal';
import path from 'node:path';
import type { Place } from '../table/layout.js';
import type { Requests } from './requests.js';
import type { HeldCopy } from './socket.js';
import type { Spool } from './spool.js';
import type { Waits } from './waits.js';

/** The parts that make objects readable for programs that wait. */
export interface ReadableParts {
  readonly hierarchy: Hierarchy;
  readonly requests: Requests;
  readonly spool: Spool;
  /** The directories of the tiers. */
  readonly tiers: readonly string[];
  readonly placeOf: (id: number) => Place | undefined;
  /** Told of an object that may turn out to have changed. */
  readonly describe: (id: number) => void;
  readonly waits: Waits;
}

/** Makes objects readable for programs that wait: on a tier if one takes them, else in the spool. */
export class Readable {
  readonly #parts: ReadableParts;
  #failures = 0;
  #lastError: unknown;

  constructor(parts: ReadableParts) {
    this.#parts = parts;
  }

  /** Opens that failed because an object could not be read, and why the last one did. */
  get failed(): { readonly count: number; readonly lastError: unknown } {
    return { count: this.#failures, lastError: this.#lastError };
  }

  /** @throws TieredError `TIERED_NOT_FOUND`; what `Hierarchy.read` throws; errors of the system. */
  hold(key: string): Promise<HeldCopy> {
    return this.#parts.waits.during(key, () => this.#hold(key));
  }

  /** Resolves when nothing that was let go is being removed. */
  idle(): Promise<void> {
    return this.#parts.spool.idle();
  }

  /** Fetches for programs that wait are given up. Nothing can be held from now on. */
  close(): Promise<void> {
    this.#parts.waits.close();
    return this.#parts.spool.close();
  }

  async #hold(key: string): Promise<HeldCopy> {
    const { hierarchy, requests, spool } = this.#parts;
    const id = hierarchy.namespace.find(key);
    if (id < 0)
      throw new TieredError('TIERED_NOT_FOUND', `There is no object ${JSON.stringify(key)}.`, { key });
    if (this.#parts.placeOf(id) === undefined) await requests.ready(id);
    const place = this.#parts.placeOf(id);
    if (place !== undefined) return { path: this.#pathOf(key, place), letGo: () => undefined };
    try {
      return await spool.hold(id);
    } catch (error) {
      this.#failures += 1;
      this.#lastError = error;
      throw error;
    } finally {
      this.#parts.describe(id);
    }
  }

  #pathOf(key: string, { level, tag }: Place): string {
    return path.join(this.#parts.tiers[level] ?? '', copyName(key, tag));
  }
}
