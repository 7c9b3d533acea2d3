import type { Hierarchy, HierarchyStats, Namespace, OperationOptions, ReadOutcome } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Access } from './sequence/access-sequence.js';

/**
 * A sample as a prefetcher reads it: how many bytes it has, where they are, and how to read them. A key of a
 * hierarchy becomes one request. A request may also cover parts of several objects.
 */
export interface SampleRequest extends Access {
  /** Its name in errors, in traces and on the sample. Several requests may have the same key. */
  readonly key: string;
  /** Size in bytes, as far as it is known now. Undefined if only `stat` can tell. */
  readonly size: number | undefined;
  /** Returns the level that it would be read from now, or undefined if that is unknown. Default: unknown. */
  where?(): number | undefined;
  /**
   * Reads it into memory of `size` bytes. Resolves to the number of bytes read. If that is not `size`, it is
   * read again, with the size that `stat` returns. Writes nothing after it has settled.
   * @throws The error that the sample fails with. An abort rejects with `signal.reason`.
   */
  readInto(target: Uint8Array, options: OperationOptions): Promise<number>;
  /** Resolves to the current size. Default: `size`, which then never changes. */
  stat?(options: OperationOptions): Promise<{ readonly size: number }>;
}

/**
 * The common origin of requests. All members are optional. `name` is for traces. `readsAtOnce` saves the
 * autotuner the search for more producers than are useful. `stats` has the counts by level.
 */
export interface RequestOrigin {
  readonly name?: string | undefined;
  readonly readsAtOnce?: number | undefined;
  /** Returns counts by level since the start. */
  stats?(): HierarchyStats;
}

/**
 * The source that a prefetcher reads keys from: a `Hierarchy`, or a stand-in for one. `namespace` and
 * `readMany` are optional. `namespace` saves a promise for each object whose size is known, and tells levels
 * apart. `readMany` saves a promise for each small object.
 */
export interface SampleSource extends RequestOrigin, Pick<Hierarchy, 'readInto'> {
  /** Resolves to the size and version of an object. */
  stat(
    key: string,
    options: OperationOptions,
  ): Promise<{ readonly size: number; readonly version?: string | undefined }>;
  readonly namespace?: (Pick<Namespace, 'find' | 'sizeOf'> & Partial<Pick<Namespace, 'levelOf'>>) | undefined;
  /**
   * Reads whole objects into their targets, in one call. Resolves to one outcome per request, in the same
   * order.
   */
  readMany?(
    requests: readonly { readonly key: string; readonly target: Uint8Array }[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]>;
}

/** Requests for an origin that does not read keys. */
export type RequestInput = Iterable<SampleRequest> | AsyncIterable<SampleRequest>;

/** Turns the item of a sequence at this position, counted from 0, into a request. */
export type RequestOf = (item: Access | string, position: number) => SampleRequest;

/** The request that a key stands for: an object of a source. */
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

/** Returns the origin if it can read keys, or undefined if it only serves requests. */
export function keyedSourceOf(origin: SampleSource | RequestOrigin): SampleSource | undefined {
  return 'readInto' in origin ? origin : undefined;
}

/**
 * Returns a function that turns the items for an origin into requests. It throws `TIERED_CONFIG_INVALID` for
 * any other item.
 */
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
 * Returns the identity of a request: the key of an object, or the request itself. Requests with the same
 * identity are read once while the first of them waits for its consumer.
 */
export function identityOf(request: SampleRequest): string | SampleRequest {
  return request instanceof KeyRequest ? request.key : request;
}

/**
 * Asks a request for its size in bytes.
 * @throws As `stat` does; `TIERED_CONFIG_INVALID` for a request that has neither a size nor `stat`.
 */
export async function askedSizeOf(request: SampleRequest, options: OperationOptions): Promise<number> {
  const size = request.stat === undefined ? request.size : (await request.stat(options)).size;
  if (size === undefined) throw configError('requests', 'a size, or the method stat', request);
  return size;
}

/** Returns the size of an object in bytes, or undefined if only the source can tell. */
export function sizeOf({ namespace }: SampleSource, key: string): number | undefined {
  const id = namespace?.find(key) ?? -1;
  return id === -1 ? undefined : namespace?.sizeOf(id);
}
