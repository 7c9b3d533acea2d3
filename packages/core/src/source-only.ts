import { OperationScope, raceAbort } from './abort.js';
import type { OperationOptions, ReadIntoOptions, StorageDriver } from './driver.js';
import { closedError, invariant } from './errors.js';
import { sourceChanged, type Placement, type PlacementHost, type PlacementStats } from './placement.js';

/** The placement of a hierarchy without tiers: every read goes to the source, nothing is kept. */
export class SourceOnly implements Placement {
  readonly seesHits = false;
  #host: PlacementHost | undefined;
  readonly #reads = new OperationScope();
  #sourceReads = 0;
  #sourceBytes = 0;

  assertTiers(): void {
    // There are none.
  }

  async start(host: PlacementHost): Promise<void> {
    this.#host = host;
  }

  async read(id: number, offset: number, length: number, options: OperationOptions): Promise<Uint8Array> {
    const reading = this.#request(id, { offset, wanted: length }, options, async (source, key, range) => {
      const bytes = await source.read(key, { ...range, length });
      return { bytes, got: bytes.byteLength };
    });
    // The reader leaves at once when it aborts; the scope stays until the source has stopped, for close() to wait.
    return raceAbort(reading, options.signal);
  }

  async readInto(id: number, offset: number, target: Uint8Array, options: OperationOptions): Promise<void> {
    await this.#request(id, { offset, wanted: target.byteLength }, options, async (source, key, range) => {
      return { bytes: target, got: await source.readInto(key, target, range) };
    });
  }

  /** Makes a request that gives all that was wanted, or fails. */
  #request(
    id: number,
    { offset, wanted }: { readonly offset: number; readonly wanted: number },
    options: OperationOptions,
    read: (
      source: StorageDriver,
      key: string,
      range: ReadIntoOptions,
    ) => Promise<{ bytes: Uint8Array; got: number }>,
  ): Promise<Uint8Array> {
    const host = this.#host;
    invariant(host !== undefined, 'read before start');
    const { namespace, source } = host;
    const key = namespace.keyOf(id);
    const version = host.versionToAskFor(namespace.versionOf(id));
    this.#sourceReads += 1;
    return this.#reads.run(options.signal, async (signal) => {
      const { bytes, got } = await read(source, key, { offset, version, signal });
      this.#sourceBytes += got;
      if (got === wanted) return bytes;
      throw sourceChanged(source, key, { offset, got, wanted });
    });
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
      sourceReads: this.#sourceReads,
      sourceBytes: this.#sourceBytes,
      joinedReads: 0,
      placed: 0,
      adopted: 0,
      damaged: 0,
      outdated: 0,
      evicted: 0,
      promoted: 0,
      declined: 0,
      failed: 0,
      fetching: this.#reads.size,
      fetchingBytes: 0,
      tiers: [],
    };
  }

  async close(): Promise<void> {
    await this.#reads.close(closedError());
  }
}
