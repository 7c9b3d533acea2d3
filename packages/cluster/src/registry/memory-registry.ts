import type { Clock } from '@tiered/core';
import type { PutOptions, Registry, RegistryEntry } from './registry.js';

/** A record, and when it expires. */
interface Kept extends RegistryEntry {
  readonly until: number;
}

/** What the registries of one process share. */
export class MemoryRecords {
  readonly clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #watchers = new Set<() => void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The records that have not expired. */
  all(): readonly Kept[] {
    const now = this.clock.now();
    return [...this.#kept.values()].filter(({ until }) => until > now);
  }

  put(kept: Kept): boolean {
    const holder = this.all().find(({ slot }) => slot === kept.slot);
    if (holder !== undefined && holder.owner !== kept.owner) return false;
    this.#kept.set(kept.slot, kept);
    this.#tell();
    return true;
  }

  leave(slot: string, owner: string): void {
    if (this.#kept.get(slot)?.owner !== owner) return;
    this.#kept.delete(slot);
    this.#tell();
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #tell(): void {
    for (const changed of this.#watchers) changed();
  }
}

/** A registry in the memory of one process, for workers that are threads of a test or of a simulation. */
export class MemoryRegistry implements Registry {
  readonly name = 'memory';
  readonly #records: MemoryRecords;

  /** @param records What the workers share. */
  constructor(records: MemoryRecords) {
    this.#records = records;
  }

  async open(): Promise<void> {
    // There is nothing to reach.
  }

  async put({ slot, owner, record }: RegistryEntry, { ttlMs }: PutOptions): Promise<boolean> {
    return this.#records.put({ slot, owner, record, until: this.#records.clock.now() + ttlMs });
  }

  async all(): Promise<readonly RegistryEntry[]> {
    return this.#records.all();
  }

  watch(changed: () => void): () => void {
    return this.#records.watch(changed);
  }

  async leave(slot: string, owner: string): Promise<void> {
    this.#records.leave(slot, owner);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}
