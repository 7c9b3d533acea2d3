import { OperationScope, raceAbort } from '../support/abort.js';
import type { ReadIntoOptions, ReadOutcome, StorageDriver } from '../driver/driver.js';
import type { ObjectRef } from '../namespace/object-ref.js';
import { closedError, invariant } from '../support/errors.js';
import {
  NOTHING_PLACED,
  sourceChanged,
  type Placement,
  type PlacementHost,
  type PlacementRead,
  type PlacementStats,
} from '../placement/placement.js';
import type { TracedOptions } from '../tracing/operation.js';

/** The placement of a hierarchy without tiers. Every read goes to the source, and nothing is kept. */
export class SourceOnly implements Placement {
  readonly seesHits = false;
  #host: PlacementHost | undefined;
  readonly #reads = new OperationScope();
  #sourceReads = 0;
  #sourceBytes = 0;
  #ownReads = 0;

  assertTiers(): void {
    // There are none.
  }

  async open(host: PlacementHost): Promise<void> {
    this.#host = host;
  }

  async read(object: ObjectRef, offset: number, length: number, options: TracedOptions): Promise<Uint8Array> {
    const reading = this.#request(object, { offset, wanted: length }, options, async (source, key, range) => {
      const bytes = await source.read(key, { ...range, length });
      return { bytes, got: bytes.byteLength };
    });
    // The reader leaves at once when it aborts. The scope stays until the source has stopped, so that close()
    // can wait for it.
    return raceAbort(reading, options.signal);
  }

  async readInto(
    object: ObjectRef,
    offset: number,
    target: Uint8Array,
    options: TracedOptions,
  ): Promise<void> {
    await this.#request(
      object,
      { offset, wanted: target.byteLength },
      options,
      async (source, key, range) => {
        return { bytes: target, got: await source.readInto(key, target, range) };
      },
    );
  }

  async readMany(reads: readonly PlacementRead[], options: TracedOptions): Promise<readonly ReadOutcome[]> {
    const host = this.#startedHost;
    const { source } = host;
    const requests = reads.map(({ object: { key, version }, offset, target, pieces }) => ({
      key,
      version: host.versionToAskFor(version),
      offset,
      target,
      pieces,
    }));
    this.#sourceReads += reads.length;
    const found = await this.#reads.run(options.signal, (signal) => source.readMany(requests, { signal }));
    return requests.map(({ key, offset, target }, i) => {
      const outcome = found[i] ?? { bytes: 0 };
      if ('error' in outcome) return outcome;
      const [got, wanted] = [outcome.bytes, target.byteLength];
      this.#sourceBytes += got;
      if (got !== wanted) return { error: sourceChanged(source, key, { offset, got, wanted }) };
      this.#served(options);
      return outcome;
    });
  }

  /** Makes a request that returns all requested bytes, or fails. */
  #request(
    { key, version: known }: ObjectRef,
    { offset, wanted }: { readonly offset: number; readonly wanted: number },
    options: TracedOptions,
    read: (
      source: StorageDriver,
      key: string,
      range: ReadIntoOptions,
    ) => Promise<{ bytes: Uint8Array; got: number }>,
  ): Promise<Uint8Array> {
    const host = this.#startedHost;
    const { source } = host;
    const version = host.versionToAskFor(known);
    this.#sourceReads += 1;
    return this.#reads.run(options.signal, async (signal) => {
      const { bytes, got } = await read(source, key, { offset, version, signal });
      this.#sourceBytes += got;
      if (got !== wanted) throw sourceChanged(source, key, { offset, got, wanted });
      this.#served(options);
      return bytes;
    });
  }

  #served({ onServed }: TracedOptions): void {
    this.#ownReads += 1;
    onServed?.('fromSource');
  }

  get #startedHost(): PlacementHost {
    invariant(this.#host !== undefined, 'read before start');
    return this.#host;
  }

  async place(): Promise<number> {
    return 0;
  }

  lost(): void {
    invariant(false, 'an object was lost where there is no tier');
  }

  hit(): void {
    invariant(false, 'a tier was read where there is none');
  }

  async idle(): Promise<void> {
    // Nothing is ever placed.
  }

  stats(): PlacementStats {
    return {
      ...NOTHING_PLACED,
      sourceReads: this.#sourceReads,
      sourceBytes: this.#sourceBytes,
      ownReads: this.#ownReads,
      fetching: this.#reads.size,
    };
  }

  async close(): Promise<void> {
    await this.#reads.close(closedError());
  }
}
