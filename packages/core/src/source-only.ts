import { OperationScope, raceAbort } from './abort.js';
import type { OperationOptions } from './driver.js';
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
    const host = this.#host;
    invariant(host !== undefined, 'read before start');
    this.#sourceReads += 1;
    const key = host.namespace.keyOf(id);
    const version = host.versionToAskFor(host.namespace.versionOf(id));
    // The reader leaves at once when it aborts; the scope stays until the source has stopped, for close() to wait.
    const reading = this.#reads.run(options.signal, async (signal) => {
      const bytes = await host.source.read(key, { offset, length, version, signal });
      this.#sourceBytes += bytes.byteLength;
      if (bytes.byteLength === length) return bytes;
      throw sourceChanged(host.source, key, { offset, got: bytes.byteLength, wanted: length });
    });
    return raceAbort(reading, options.signal);
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
