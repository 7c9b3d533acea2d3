import { isTieredError, type Clock, type PeerModel, type StorageDriver } from '@tiered/core';
import {
  InterceptingDriver,
  type DriverCall,
  type PeerReads,
  type ReadIntoOptions,
  type ReadOptions,
} from '@tiered/core/driver';
import { Allowance, HedgedRead, LateWatch, type HedgeHost } from '@tiered/core/internal';
import { inNewMemory } from '../in-new-memory.js';
import type { Peer } from './peer.js';
import { PeerChoice } from './peer-choice.js';
import { wantedRange } from './wanted-read.js';

/** Hedges, which are second requests to the source, as a share of the reads of peers. */
const HEDGES = 0.05;
/** Bytes that hedges may have in flight. */
const HEDGED_BYTES = 64 * 2 ** 20;

/** A peer that may have an object. */
export interface AskedPeer {
  readonly peer: Peer;
  /** Whether the peer fetches the object if it does not have it. Otherwise it is a former home. */
  readonly isHome: boolean;
}

/** Dependencies of `PeersDriver`: its view of the cluster. */
export interface PeersDriverParts {
  /** The peers that may have an object, in the order they are asked. */
  readonly peersOf: (key: string) => readonly AskedPeer[];
  /** Milliseconds after which an unanswered read from a peer is hedged with a request to the source. */
  readonly lateAfterMs: number;
  /** Predicts which reads the source serves sooner. Undefined: none. */
  readonly model?: PeerModel | undefined;
  readonly clock: Clock;
}

/** Reads below the tiers of a worker since it joined. */
export interface PeerReadCounts {
  /** Reads from peers, and their bytes. */
  readonly peers: { readonly reads: number; readonly bytes: number };
  /** Reads from the source, and their bytes. */
  readonly source: { readonly reads: number; readonly bytes: number };
  /** Reads that peers were asked for but the source served: the peers did not have the object, or failed. */
  readonly inVain: number;
  /** Reads of objects that a peer keeps but, by the model, the source serves sooner. */
  readonly preferred: number;
  /** Hedges: second requests, to the source, for reads that a peer had not answered in time. */
  readonly late: number;
}

/**
 * The source as the workers of a cluster share it. An object that a peer keeps is read from that peer. A peer
 * that does not have its object yet fetches it for both. If no peer serves an object, it is read from the
 * source, so a peer can make no read fail.
 *
 * A read returns the version it asks for: the peer compares versions. A read without a version takes the
 * peer's version. Bytes from peers come with a checksum. All other operations, such as `stat` and `list`, go
 * to the source.
 */
export class PeersDriver extends InterceptingDriver {
  readonly #parts: PeersDriverParts;
  readonly #allowance: Allowance;
  readonly #host: HedgeHost;
  readonly #choice: PeerChoice;
  /** Hedged requests that only `close` waits for. */
  readonly #ending = new Set<Promise<unknown>>();
  readonly #counts = {
    peers: { reads: 0, bytes: 0 },
    source: { reads: 0, bytes: 0 },
    inVain: 0,
    preferred: 0,
  };

  constructor(source: StorageDriver, parts: PeersDriverParts) {
    super(source);
    this.#parts = parts;
    const { clock, model } = parts;
    this.#choice = new PeerChoice(model);
    this.#allowance = new Allowance(HEDGES, HEDGED_BYTES, () => clock.now());
    this.#host = {
      clock,
      allowance: this.#allowance,
      watch: new LateWatch(clock),
      outlives: (requests) => {
        this.#ending.add(requests);
        void requests.then(() => this.#ending.delete(requests));
      },
    };
  }

  /** The reads so far, from peers and from the source. */
  get counts(): PeerReadCounts {
    const { peers, source, ...others } = this.#counts;
    const late = this.#allowance.counts.hedges;
    return { peers: { ...peers }, source: { ...source }, ...others, late };
  }

  override get peerReads(): PeerReads {
    return { ...this.#counts.peers };
  }

  override async read(key: string, options: ReadOptions): Promise<Uint8Array> {
    const peers = this.#peersOf(key, options.length);
    if (peers.length === 0) return this.#fromSource(() => this.inner.read(key, options));
    return inNewMemory(key, options.length, (target) => this.#readInto(key, target, options, peers));
  }

  override readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.#readInto(key, target, options);
  }

  override async close(): Promise<void> {
    await Promise.all(this.#ending);
    await super.close();
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }

  /** The peers that may have a range. An empty range is asked of none. */
  #peersOf(key: string, length: number): readonly AskedPeer[] {
    return length === 0 ? [] : this.#parts.peersOf(key);
  }

  async #readInto(
    key: string,
    target: Uint8Array,
    options: ReadIntoOptions,
    peers = this.#peersOf(key, target.byteLength),
  ): Promise<number> {
    options.signal?.throwIfAborted();
    const sooner = peers.filter(({ peer }) => !this.#choice.prefersSource(peer, target.byteLength));
    for (const asked of sooner) {
      const count = await this.#fromPeer(asked, key, target, options);
      if (typeof count === 'number') return count;
      // A read waits in vain only once. The next peer may be behind the same network.
      if (count === 'late') break;
    }
    if (sooner.length > 0) this.#counts.inVain += 1;
    else if (peers.length > 0) this.#counts.preferred += 1;
    return this.#fromSource(() => this.inner.readInto(key, target, options));
  }

  /** The bytes from a peer, or the reason why there are none. */
  async #fromPeer(
    { peer, isHome }: AskedPeer,
    key: string,
    target: Uint8Array,
    options: ReadIntoOptions,
  ): Promise<number | 'none' | 'late'> {
    const { offset, version, signal } = options;
    const length = target.byteLength;
    const range = wantedRange(key, length, options);
    if (!peer.isAsked) {
      // No read waits for a failed peer until it has answered a probe.
      if (peer.isOnTrial) peer.probe(range);
      return 'none';
    }
    const read = new HedgedRead<number>(
      {
        bytes: length,
        signal,
        isIntoMemory: false,
        first: async (until) => {
          const bytes = await peer.read({ ...range, signal: until }, isHome);
          // Once the source has answered, do not write to the target.
          until?.throwIfAborted();
          target.set(bytes);
          this.#counts.peers.reads += 1;
          this.#counts.peers.bytes += length;
          return length;
        },
        second: (until) => this.inner.read(key, { offset, length, version, signal: until }),
        agrees: () => true,
        resultOf: (bytes) => {
          this.#cameFromSource(bytes.byteLength);
          target.set(bytes);
          return bytes.byteLength;
        },
      },
      this.#parts.lateAfterMs,
      this.#host,
    );
    try {
      return await read.run();
    } catch (error) {
      if (signal?.aborted === true || !isTieredError(error)) throw error;
      return isTieredError(error, 'TIERED_DEADLINE') ? 'late' : 'none';
    } finally {
      this.#allowance.earn();
    }
  }

  /** Makes a read that the model and the counts include. */
  async #fromSource<T extends Uint8Array | number>(read: () => Promise<T>): Promise<T> {
    const got = await this.#choice.read(read);
    this.#cameFromSource(typeof got === 'number' ? got : got.byteLength);
    return got;
  }

  #cameFromSource(bytes: number): void {
    this.#counts.source.reads += 1;
    this.#counts.source.bytes += bytes;
  }
}
