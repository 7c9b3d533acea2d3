import type { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel';

/**
 * How a read was served: by tiers alone; after waiting for bytes that it requested from the source; after
 * waiting only for bytes that were already in flight; or without bytes. `ReadStats` has the sums.
 */
export type ServedBy = 'fromTiers' | 'fromSource' | 'joined' | 'empty';

/**
 * A read of a hierarchy, or a batch of them, on the channel `tiered:read`. Fields that are known only at the
 * end may change until `asyncEnd`.
 */
export interface ReadTrace {
  /** The name of the hierarchy, see `HierarchyOptions.name`. */
  readonly hierarchy: string;
  /** The called method, on the hierarchy or on a handle. */
  readonly operation: 'read' | 'readInto' | 'readMany';
  /** The object. Undefined for a batch. */
  readonly key: string | undefined;
  /** First byte. 0 for a batch. */
  readonly offset: number;
  /** 1, or the number of reads of a batch. */
  readonly reads: number;
  /** At the end: bytes that were read. */
  readonly bytes: number;
  /**
   * At the end: how many reads were served in each way. The sums over all traces equal `stats().reads` of the
   * hierarchy.
   */
  readonly served: Readonly<Record<ServedBy, number>>;
  /** At the end: reads of a batch that failed individually. */
  readonly failed: number;
  /**
   * At the end: the slowest level that served any of it, 0 for the fastest tier and the number of tiers for
   * the source, and the name of its driver. Undefined if no level was asked.
   */
  readonly level: number | undefined;
  readonly driver: string | undefined;
  /** The error that the call rejected with. */
  readonly error?: unknown;
}

/**
 * Why an object is being placed: it was read, `Hierarchy.place` was called, it had been skipped while the
 * tiers were behind, or the policy promotes it.
 */
export type PlaceCause = 'read' | 'place' | 'behind' | 'promotion';

/**
 * The outcome of a placement.
 * - `placed`: the copy is served.
 * - `failed`: the source or the tier failed (see `error`). The source serves the object.
 * - `elsewhere`: another process already has a copy.
 * - `discarded`: the copy was no longer wanted, because the object had changed or the quota had shrunk.
 * - `abandoned`: the hierarchy was closed meanwhile.
 */
export type PlaceOutcome = 'placed' | 'failed' | 'elsewhere' | 'discarded' | 'abandoned';

/**
 * The placement of an object on a tier, on the channel `tiered:place`: from the decision until its copy is
 * served, or the placement ends without one.
 */
export interface PlaceTrace {
  /** The name of the hierarchy, see `HierarchyOptions.name`. */
  readonly hierarchy: string;
  readonly key: string;
  readonly cause: PlaceCause;
  /** The tier that it is copied from. Undefined for the source. */
  readonly from: number | undefined;
  /** The tier that it is copied to, and the name of its driver. */
  readonly level: number;
  readonly driver: string;
  /** Bytes of the object, and of the copy. The copy is smaller if only the beginning fits. */
  readonly size: number;
  readonly bytes: number;
  /** Known at the end. */
  readonly outcome: PlaceOutcome | undefined;
  /** Why it failed. */
  readonly error?: unknown;
}

/**
 * A sample of a prefetcher, on the channel `tiered:prefetch`: from its admission until its bytes have
 * arrived, or it has failed.
 */
export interface PrefetchTrace {
  /** The name of the hierarchy. Undefined for a source that has none. */
  readonly hierarchy: string | undefined;
  readonly key: string;
  /** Identifies the access in the sequence. */
  readonly epoch: number;
  readonly position: number;
  /** Bytes of the object: as known at admission, then as read. */
  readonly bytes: number;
  /** Whether it is copied from another sample, because its object is in the buffer or in flight. */
  readonly repeated: boolean;
  /** Why it could not be read. */
  readonly error?: unknown;
}

/** One event of a channel: a `Channel` of Node. */
export interface TraceEvent<Context extends object> {
  readonly hasSubscribers: boolean;
  /** Notifies subscribers. Only the package that traces an operation calls this. */
  publish(context: Context): void;
  /** Makes the store hold the context, or a value derived from it, throughout the operation. */
  bindStore<Store>(store: AsyncLocalStorage<Store>, transform?: (context: Context) => Store): void;
  /** Unbinds the store. Returns whether it was bound. */
  unbindStore<Store>(store: AsyncLocalStorage<Store>): boolean;
  /** Publishes the context, and calls the function with the bound stores. */
  runStores<T>(context: Context, begin: () => T): T;
}

/**
 * A `TracingChannel` of Node, also for subscribers to only some events. It is declared here, because Node's
 * types differ: in Node 26 the type parameters are swapped, and programs are compiled with any of them.
 */
export interface TraceChannel<Context extends object> {
  readonly start: TraceEvent<Context>;
  readonly end: TraceEvent<Context>;
  readonly asyncStart: TraceEvent<Context>;
  readonly asyncEnd: TraceEvent<Context>;
  readonly error: TraceEvent<Context>;
  readonly hasSubscribers: boolean;
  /** Traces an operation that returns a promise. */
  tracePromise<T>(begin: () => Promise<T>, context: Context): Promise<T>;
  /** Adds these subscribers. */
  subscribe(subscribers: Partial<TracingChannelSubscribers<Context>>): void;
  /** Removes them; pass the same object. */
  unsubscribe(subscribers: Partial<TracingChannelSubscribers<Context>>): void;
}

/** Reads of hierarchies. */
export const readChannel: TraceChannel<ReadTrace> = channelOf('tiered:read');

/** Placements of objects on tiers. */
export const placeChannel: TraceChannel<PlaceTrace> = channelOf('tiered:place');

/** Samples of prefetchers. */
export const prefetchChannel: TraceChannel<PrefetchTrace> = channelOf('tiered:prefetch');

function channelOf<Context extends object>(name: string): TraceChannel<Context> {
  return tracingChannel(name) as unknown as TraceChannel<Context>;
}
