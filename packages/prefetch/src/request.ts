import type { Hierarchy, HierarchyStats, Namespace, OperationOptions, ReadOutcome } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Access } from './sequence/access-sequence.js';

/**
 * What a prefetcher reads as one sample: bytes of which it is known how many there are, where they are, and
 * how they are read. A key of a hierarchy becomes one; parts of several objects may be one.
 */
export interface SampleRequest extends Access {
  /** What errors, traces and the sample call it. Several requests may have the same key. */
  readonly key: string;
  /** Bytes, as far as they are known now. Undefined if only `stat` can say. */
  readonly size: number | undefined;
  /** Returns the level that it would be read from now; undefined if nobody knows. Default: nobody does. */
  where?(): number | undefined;
  /**
   * Reads it into memory of `size` bytes. Resolves to the bytes that were read. If these are not `size`
   * bytes, it is read once more, with the size that `stat` tells. Writes nothing after it has settled.
   * @throws What the sample fails with. An abort rejects with `signal.reason`.
   */
  readInto(target: Uint8Array, options: OperationOptions): Promise<number>;
  /** Asks how many bytes there are. Default: `size`, which then never changes. */
  stat?(options: OperationOptions): Promise<{ readonly size: number }>;
}

/**
 * What requests are read from, as a whole. All of it may be missing. `name` is for traces. `readsAtOnce`
 * saves the autotuner the search for more producers than can be of use. `stats` has the figures by level.
 */
export interface RequestOrigin {
  readonly name?: string | undefined;
  readonly readsAtOnce?: number | undefined;
  /** Returns counts by level since the start. */
  stats?(): HierarchyStats;
}

/**
 * What a prefetcher reads keys from: a `Hierarchy`, or what can stand for one. `namespace` and `readMany` may
 * be missing. `namespace` saves a promise for each object whose size is known, and tells levels apart.
 * `readMany` saves a promise for each small object.
 */
export interface SampleSource extends RequestOrigin, Pick<Hierarchy, 'readInto'> {
  /** Returns size and version of an object. */
  stat(
    key: string,
    options: OperationOptions,
  ): Promise<{ readonly size: number; readonly version?: string | undefined }>;
  readonly namespace?: (Pick<Namespace, 'find' | 'sizeOf'> & Partial<Pick<Namespace, 'levelOf'>>) | undefined;
  /** Reads whole objects into their targets, as one call. An outcome each, in the order of the requests. */
  readMany?(
    requests: readonly { readonly key: string; readonly target: Uint8Array }[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]>;
}

/** Requests of an origin that reads no keys. */
export type RequestInput = Iterable<SampleRequest> | AsyncIterable<SampleRequest>;

/** Makes a request of what a sequence gave at this position, counted from 0. */
export type RequestOf = (item: Access | string, position: number) => SampleRequest;

/** An object of a source: the request that a key stands for. */
export class KeyRequest implements SampleRequest {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly #source: SampleSource;

  constructor(source: SampleSource, { key, epoch, position }: Access) {
    this.key = key;
    this.epoch = epoch;
    this.position = position;
    this.#source = source;
  }

  get size(): number | undefined {
    return sizeOf(this.#source, this.key);
  }

  where(): number | undefined {
    const { namespace } = this.#source;
    const id = namespace?.find(this.key) ?? -1;
    return id === -1 ? undefined : namespace?.levelOf?.(id);
  }

  readInto(target: Uint8Array, options: OperationOptions): Promise<number> {
    return this.#source.readInto(this.key, target, options);
  }

  stat(options: OperationOptions): Promise<{ readonly size: number }> {
    return this.#source.stat(this.key, options);
  }
}

/** Returns the origin as what keys are read from; undefined if it only is where requests are read from. */
export function keyedSourceOf(origin: SampleSource | RequestOrigin): SampleSource | undefined {
  return 'readInto' in origin ? origin : undefined;
}

/** Returns how what an origin is given becomes requests. Throws `TIERED_CONFIG_INVALID` for all else. */
export function requestsOf(origin: SampleSource | RequestOrigin): RequestOf {
  const source = keyedSourceOf(origin);
  if (source === undefined) {
    return (item) => {
      if (isRequest(item)) return item;
      throw configError('requests', 'objects with key, epoch, position, size and readInto', item);
    };
  }
  return (item, position) => {
    if (typeof item === 'string') return new KeyRequest(source, { key: item, epoch: 0, position });
    if (isRequest(item))
      throw configError('accesses', 'keys; for requests, an origin without readInto', item);
    if (typeof (item as Access | undefined)?.key === 'string') return new KeyRequest(source, item);
    throw configError('accesses', 'keys, or objects with key, epoch and position', item);
  };
}

function isRequest(item: Access | string): item is SampleRequest {
  return typeof (item as SampleRequest | undefined)?.readInto === 'function';
}

/**
 * What tells requests for the same bytes: the key of an object, or the request itself. Requests that are
 * equal are read once while the first of them waits for its consumer.
 */
export function identityOf(request: SampleRequest): string | SampleRequest {
  return request instanceof KeyRequest ? request.key : request;
}

/**
 * Asks a request for its bytes.
 * @throws As `stat` does; `TIERED_CONFIG_INVALID` for a request that has neither a size nor `stat`.
 */
export async function askedSizeOf(request: SampleRequest, options: OperationOptions): Promise<number> {
  const size = request.stat === undefined ? request.size : (await request.stat(options)).size;
  if (size === undefined) throw configError('requests', 'a size, or the method stat', request);
  return size;
}

/** Returns the bytes of an object, or undefined if its size is not known without asking the source. */
export function sizeOf({ namespace }: SampleSource, key: string): number | undefined {
  const id = namespace?.find(key) ?? -1;
  return id === -1 ? undefined : namespace?.sizeOf(id);
}
