import type { Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import { Calls } from './calls.js';
import { assertSlot, checkedRecord } from './checks.js';
import type { PutOptions, Registry, RegistryCallOptions, RegistryEntry } from './registry.js';
import { Watchers } from './watchers.js';

/** A record with its expiry time. */
interface Kept extends RegistryEntry {
  readonly until: number;
}

/** The records that the registries of one process share. */
export class MemoryRecords {
  readonly clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #watchers = new Watchers();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The records that have not expired. */
  all(): readonly Kept[] {
    const now = this.clock.now();
    return [...this.#kept.values()].filter(({ until }) => until > now);
  }

  /** Puts a record, unless another owner has its slot. Returns whether it did. */
  put(kept: Kept): boolean {
    const holder = this.all().find(({ slot }) => slot === kept.slot);
    if (holder !== undefined && holder.owner !== kept.owner) return false;
    this.#kept.set(kept.slot, kept);
    this.#watchers.tell();
    return true;
  }

  /** Removes a record, if the owner has it. */
  leave(slot: string, owner: string): void {
    if (this.#kept.get(slot)?.owner !== owner) return;
    this.#kept.delete(slot);
    this.#watchers.tell();
  }

  /** Calls back at each change. Returns a function that stops it. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }
}

/** The bound of calls, which never wait. */
const BOUND_MS = 1000;

/**
 * A registry in the memory of one process, for workers that are threads of a test or a simulation. Records
 * expire by the clock of `MemoryRecords`.
 */
export class MemoryRegistry implements Registry {
  readonly name = 'memory';
  readonly longestTtlMs = Infinity;
  readonly #records: MemoryRecords;
  readonly #calls: Calls;
  readonly #watchers: Watchers;

  /** @param records The records that the workers share. */
  constructor(records: MemoryRecords) {
    this.#records = records;
    this.#calls = new Calls(this.name, records.clock, BOUND_MS);
    this.#watchers = new Watchers((signal) => {
      const stop = records.watch(() => this.#watchers.tell());
      onAbort(signal, stop);
    });
  }

  open({ signal }: RegistryCallOptions = {}): Promise<void> {
    return this.#calls.open(signal, async () => undefined);
  }

  async put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    // Store a separate copy of the record, as others see it.
    const record: unknown = JSON.parse(checkedRecord(entry, options));
    const { slot, owner } = entry;
    return this.#calls.run(options.signal, async () =>
      this.#records.put({ slot, owner, record, until: this.#records.clock.now() + options.ttlMs }),
    );
  }

  all({ signal }: RegistryCallOptions = {}): Promise<readonly RegistryEntry[]> {
    return this.#calls.run(signal, async () =>
      this.#records.all().map(({ slot, owner, record }) => ({ slot, owner, record })),
    );
  }

  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  async leave(slot: string, owner: string, { signal }: RegistryCallOptions = {}): Promise<void> {
    assertSlot(slot);
    return this.#calls.run(signal, async () => this.#records.leave(slot, owner));
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#calls.close();
  }
}
