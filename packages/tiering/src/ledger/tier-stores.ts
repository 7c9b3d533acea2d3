import type { OperationOptions, Tier } from '@tiered/core';
import { invariant } from '@tiered/core/internal';
import { ClosedStore } from '../store/closed-store.js';
import { openAtStart, openStore, type StoreParts } from '../store/open-store.js';
import type { Candidate, Claim, TierStore } from '../tier/tier-store.js';
import { Openings, TakeOvers } from './openings.js';

/** Dependencies of `TierStores`. */
export interface TierStoresParts extends StoreParts {
  /** Adopts the copies that a tier already holds. */
  readonly takeOver: (store: TierStore) => Promise<void>;
  /** Called if adoption failed. It is retried. */
  readonly onNotTakenOver: (store: TierStore, error: unknown) => void;
}

/**
 * The stores of all tiers. A tier is open until close: from the start on, or from the moment when it works
 * again or has another index.
 */
export class TierStores {
  readonly #parts: TierStoresParts;
  readonly #stores: TierStore[] = [];
  readonly #openings: Openings;
  readonly #takeOvers: TakeOvers;

  constructor(parts: TierStoresParts) {
    this.#parts = parts;
    const { host, events, closing, takeOver, onNotTakenOver } = parts;
    this.#openings = new Openings(host, closing, {
      open: (tier) => openStore(tier, parts, { signal: closing }),
      begin: (store) => {
        events.emit('void', store.tier.level);
        this.#stores[store.tier.level] = store;
        this.#takeOvers.begin(store);
      },
    });
    const { clock } = host;
    const isOpen = (store: TierStore) => this.isOpen(store);
    this.#takeOvers = new TakeOvers({ clock, closing, takeOver, isOpen, failed: onNotTakenOver });
    events.on('lost', (level) => this.#openings.again(this.at(level)));
    events.on('taken', (level) => {
      const tier = host.tiers[level];
      invariant(tier !== undefined, `there is no level ${level}`);
      events.emit('void', level);
      this.#stores[level] = new ClosedStore(tier, 'for good');
    });
  }

  /** Opens all tiers. A tier that does not work at the moment is skipped, and opened again later. */
  async open(options: OperationOptions): Promise<void> {
    for (const tier of this.#parts.host.tiers)
      this.#stores.push(await openAtStart(tier, this.#parts, options));
  }

  /** Begins to adopt the copies of all tiers, in the background. */
  begin(): void {
    for (const store of this.#stores) this.#takeOvers.begin(store);
  }

  /** By level. */
  get all(): readonly TierStore[] {
    return this.#stores;
  }

  at(level: number): TierStore {
    const store = this.#stores[level];
    invariant(store !== undefined, `there is no level ${level}`);
    return store;
  }

  /** Whether this is still the store of its tier, and the tier was not reopened since. */
  isOpen(store: TierStore): boolean {
    return this.#stores[store.tier.level] === store;
  }

  /** Openings and adoptions in progress, and the work of the stores. */
  get underWay(): Promise<void>[] {
    const own = this.#stores.flatMap(({ asked: room = [], underWay = [] }) => [...underWay].concat(room));
    return [...own, ...this.#openings.underWay, ...this.#takeOvers.underWay];
  }

  /** Resolves once a request for bytes that a claim got `later` for has ended; undefined if there is none. */
  get asked(): Promise<void> | undefined {
    return this.#stores.map(({ asked }) => asked).find((asked) => asked !== undefined);
  }

  /** Claims bytes of a level for a copy. `later` and undefined mean the same as for `TierStore.claim`. */
  claim(level: number, object: Candidate, bytes: number): Claim | 'later' | undefined {
    const store = this.at(level);
    if (store.current) return store.claim(object, bytes);
    this.#openings.again(store);
    return undefined;
  }

  /** Whether a tier may hold an object that this process does not know. Costs nothing. */
  get mayHoldMore(): boolean {
    for (const store of this.#stores) if (store instanceof ClosedStore) this.#openings.again(store);
    return this.#stores.some((store) => store.mayHoldMore);
  }

  /** Whether there is a tier that several processes fill in turns. Costs nothing. */
  get haveTurns(): boolean {
    return this.#stores.some(({ hasTurns }) => hasTurns === true);
  }

  /** Leaves all tiers. Only once nothing is in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }
}

/**
 * Whether copies on a tier outlive this process. If not, an object that is promoted to the tier keeps its
 * slower copy, which serves again once the faster one is dropped.
 */
export function isLasting({ driver }: Tier): boolean {
  return driver.capabilities.index || driver.location !== undefined;
}
