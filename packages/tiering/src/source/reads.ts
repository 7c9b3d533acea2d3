import type { Clock } from '@tiered/core';
import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { sourceChanged } from '@tiered/core/internal';
import type { ChunkSize } from './chunk-size.js';

/** All reads of the source. Every request is counted, and returns all requested bytes or fails. */
export class SourceReads {
  readonly #host: PlacementHost;
  readonly #chunkSize: ChunkSize;
  readonly #clock: Clock;
  #requests = 0;
  #bytes = 0;

  constructor(host: PlacementHost, chunkSize: ChunkSize) {
    this.#host = host;
    this.#chunkSize = chunkSize;
    this.#clock = host.clock;
  }

  /** Requests so far, and the bytes that they returned. */
  get counts(): { readonly sourceReads: number; readonly sourceBytes: number } {
    return { sourceReads: this.#requests, sourceBytes: this.#bytes };
  }

  /**
   * Fills the target from an offset of the object.
   * @param progress Called with the bytes that have arrived so far, if the driver knows. Only for targets
   * that the placement owns, so that no caller transfers them.
   * @param isWaitedFor Whether a reader waits for the bytes. Default: yes.
   * @throws TieredError `TIERED_SOURCE_CHANGED` if the object does not have that version any more, or is too
   * short for the range.
   */
  async into(
    object: ObjectRef,
    target: Uint8Array,
    offset: number,
    signal: AbortSignal,
    progress?: (bytes: number) => void,
    isWaitedFor?: () => boolean,
  ): Promise<void> {
    const { source } = this.#host;
    const version = this.#host.versionToAskFor(object.version);
    const isFixed = progress !== undefined;
    const start = this.#clock.now();
    this.#requests += 1;
    const got = await source.readInto(object.key, target, {
      offset,
      version,
      signal,
      progress,
      isFixed,
      isWaitedFor,
    });
    this.#came(object, target, offset, got);
    this.#chunkSize.observe(target.byteLength, this.#clock.now() - start);
  }

  /** As `into`, for several pieces in one request. */
  async pieces(
    object: ObjectRef,
    target: Uint8Array,
    offset: number,
    pieces: Float64Array,
    signal: AbortSignal,
  ): Promise<void> {
    const { source } = this.#host;
    const version = this.#host.versionToAskFor(object.version);
    const request = { key: object.key, target, offset, version, pieces };
    this.#requests += 1;
    const [outcome = { bytes: 0 }] = await source.readMany([request], { signal });
    if ('error' in outcome) throw outcome.error;
    this.#came(object, target, offset, outcome.bytes);
  }

  #came({ key }: ObjectRef, { byteLength: wanted }: Uint8Array, offset: number, got: number): void {
    this.#bytes += got;
    if (got < wanted) throw sourceChanged(this.#host.source, key, { offset, got, wanted });
  }
}
