import { MemoryRecords, MemoryRegistry } from '../../../packages/cluster/src/registry/memory-registry.js';
import { Calls } from '../../../packages/cluster/src/registry/calls.js';
import type {
  PutOptions,
  Registry,
  RegistryCallOptions,
  RegistryEntry,
} from '../../../packages/cluster/src/registry/registry.js';
import type { Clock } from '@tiered/core';
import type { SimulatedProcess } from './process.js';

/** Milliseconds after which a call rejects that has no answer. */
const BOUND_MS = 2000;
/** What a call is that has no answer. */
const NEVER = new Promise<never>(() => undefined);

/** Who is there, as all processes see it. */
export class SimulatedRegistry {
  readonly records: MemoryRecords;
  #state: 'there' | 'lost' | 'mute' = 'there';
  #losses = 0;

  constructor(clock: Clock) {
    this.records = new MemoryRecords(clock);
  }

  /** `lost`: no call reaches it. `mute`: calls are made, and their answers are lost. */
  get state(): 'there' | 'lost' | 'mute' {
    return this.#state;
  }

  set state(state: 'there' | 'lost' | 'mute') {
    if (state !== 'there') this.#losses += 1;
    this.#state = state;
  }

  /** How often it was lost. */
  get losses(): number {
    return this.#losses;
  }

  /** Its storage is lost, with all records. */
  forget(): void {
    for (const { slot, owner } of this.records.all()) this.records.leave(slot, owner);
  }

  wayOf(process: SimulatedProcess): Registry {
    return new RegistryWay(this, process);
  }
}

/** The way of one process to the registry. */
class RegistryWay implements Registry {
  readonly name = 'registry';
  readonly longestTtlMs = Infinity;
  readonly #shared: SimulatedRegistry;
  readonly #process: SimulatedProcess;
  readonly #inner: MemoryRegistry;
  readonly #calls: Calls;

  constructor(shared: SimulatedRegistry, process: SimulatedProcess) {
    this.#shared = shared;
    this.#process = process;
    this.#inner = new MemoryRegistry(shared.records);
    this.#calls = new Calls(this.name, process.clock, BOUND_MS);
  }

  async open({ signal }: RegistryCallOptions): Promise<void> {
    await this.#inner.open({ signal });
    return this.#calls.open(signal, () => this.#reached(async () => undefined));
  }

  put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    return this.#calls.run(options.signal, () => this.#reached(() => this.#inner.put(entry, options)));
  }

  all({ signal }: RegistryCallOptions): Promise<readonly RegistryEntry[]> {
    return this.#calls.run(signal, () => this.#reached(() => this.#inner.all({ signal })));
  }

  watch(changed: () => void): () => void {
    let isWatching = true;
    const stop = this.#inner.watch(() => {
      if (this.#shared.state !== 'there') return;
      void this.#process.gate().then(() => {
        if (isWatching) changed();
      });
    });
    return () => {
      isWatching = false;
      stop();
    };
  }

  leave(slot: string, owner: string, { signal }: RegistryCallOptions): Promise<void> {
    return this.#calls.run(signal, () => this.#reached(() => this.#inner.leave(slot, owner, { signal })));
  }

  async close(): Promise<void> {
    await this.#calls.close();
    await this.#inner.close();
  }

  #reached<T>(make: () => Promise<T>): Promise<T> {
    return this.#process.slowly(async () => {
      if (this.#shared.state === 'lost') return NEVER;
      const result = await make();
      return this.#shared.state === 'mute' ? NEVER : result;
    });
  }
}
