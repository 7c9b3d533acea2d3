import type { Hierarchy } from '@tiered/core';
import type { MetricsDriver } from '@tiered/core/decorators';
import type { Place, Setup } from './setups.js';

/** What was read, and from where. */
export interface Use {
  /** What reached the source, counted there. */
  readonly source: { readonly operations: number; readonly bytes: number };
  /** Where the hierarchy took the bytes from. */
  readonly bytesFrom: Readonly<Record<Place, number>>;
}

/** Turns the running counters of a source and a hierarchy into laps. */
export class Meter {
  readonly #source: MetricsDriver;
  readonly #hierarchy: Hierarchy;
  readonly #setup: Pick<Setup, 'levels' | 'byHand'>;
  #last: Use;

  constructor(source: MetricsDriver, hierarchy: Hierarchy, setup: Pick<Setup, 'levels' | 'byHand'>) {
    this.#source = source;
    this.#hierarchy = hierarchy;
    this.#setup = setup;
    this.#last = this.#read();
  }

  /** What came since the lap before, or since the beginning. */
  lap(): Use {
    const before = this.#last;
    const now = this.#read();
    this.#last = now;
    return {
      source: {
        operations: now.source.operations - before.source.operations,
        bytes: now.source.bytes - before.source.bytes,
      },
      bytesFrom: {
        RAM: now.bytesFrom.RAM - before.bytesFrom.RAM,
        disk: now.bytesFrom.disk - before.bytesFrom.disk,
        source: now.bytesFrom.source - before.bytesFrom.source,
      },
    };
  }

  #read(): Use {
    const operations = Object.values(this.#source.metrics().operations);
    const { tiers, source } = this.#hierarchy.stats();
    const bytesFrom = { RAM: 0, disk: 0, source: 0 };
    for (const [level, { readBytes }] of [...tiers, source].entries()) {
      const place = this.#setup.levels[level];
      if (place !== undefined) bytesFrom[place] += readBytes;
    }
    const bytes = operations.reduce((sum, one) => sum + one.bytes, 0);
    // No hierarchy counts what is read past it.
    if (this.#setup.byHand) bytesFrom.source = bytes;
    return {
      source: { operations: operations.reduce((sum, { count }) => sum + count, 0), bytes },
      bytesFrom,
    };
  }
}
