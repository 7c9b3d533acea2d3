import { EventEmitter } from 'eventemitter3';
import type { Operation } from '../driver/driver.js';
import type { CopyPlace, DropReason } from '../placement/placement.js';
import type { TierUse } from '../tier/tier.js';

/** The events that a `Hierarchy` emits while it works. The key is the name of the event. */
export interface HierarchyEvents {
  /**
   * The namespace was updated from a page of the source's listing. The numbers are totals of this listing so
   * far.
   */
  scan: (progress: { readonly objects: number; readonly bytes: number }) => void;
  /**
   * A listing of the source has ended and left out entries that look like objects, such as symbolic links out
   * of its root. Emitted once per listing and reason, with the number of entries and the key of the first.
   */
  leftOut: (event: { readonly reason: string; readonly count: number; readonly key: string }) => void;
  /**
   * The manifest could not be loaded, so the source is listed; or it could not be saved, so the next start
   * lists the source.
   */
  manifestFailed: (event: {
    readonly path: string;
    readonly operation: 'load' | 'save';
    readonly error: unknown;
  }) => void;
  /**
   * A tier has copies of data that has since been replaced at the place of the source, for example because
   * another file system is mounted there. These copies are not served. They stay on the tier and count
   * towards its quota, in case that data comes back. Emitted once per tier and data. The current data is
   * fetched anew. If it is the same data, give it a name (`identity` of `FileSystemDriver`).
   */
  sourceReplaced: (event: { readonly level: number; readonly source: string }) => void;
  /**
   * Reads of an object go to another copy from now on, or to the source. Emitted before the former copy is
   * deleted. `id` is the id in the namespace.
   */
  moved: (event: { readonly id: number; readonly place: CopyPlace | undefined }) => void;
  /** An object, or its first `bytes`, is on a tier and is served from there from now on. */
  placed: (event: { readonly key: string; readonly level: number; readonly bytes: number }) => void;
  /** A copy was dropped: it is no longer served, and is being deleted. */
  dropped: (event: { readonly key: string; readonly level: number; readonly reason: DropReason }) => void;
  /**
   * The storage of a tier was full before its quota was used up. The tier holds at most `quotaBytes` from now
   * on.
   */
  tierShrunk: (event: { readonly level: number; readonly quotaBytes: number }) => void;
  /** An object could not be placed. Its reads are served from the source. */
  placementFailed: (event: { readonly key: string; readonly level: number; readonly error: unknown }) => void;
  /** A tier failed an operation, which another level served. */
  tierFault: (event: TierFault) => void;
  /** A tier failed repeatedly. It is skipped for `retryInMs`, then tried again. */
  tierOutOfService: (event: {
    readonly level: number;
    readonly use: TierUse;
    readonly retryInMs: number;
  }) => void;
  /** A tier that was out of service worked again. */
  tierInService: (event: { readonly level: number; readonly use: TierUse }) => void;
  /** Everything is closed. */
  closed: () => void;
}

/** A fault of a tier: the operation and object that failed, and the reason. */
export interface TierFault {
  readonly level: number;
  readonly operation: Operation;
  readonly key: string;
  readonly error: unknown;
}

/**
 * An eventemitter3 whose listeners cannot break the emitting operation. A listener that throws is a bug of
 * its author. Its error surfaces as an uncaught exception, after the operation has continued.
 */
export class SafeEmitter<Events extends EventEmitter.ValidEventTypes> extends EventEmitter<Events> {
  /** Called with events that have no listener. */
  protected unheard: ((event: unknown, payload: unknown) => void) | undefined;

  override emit<T extends EventEmitter.EventNames<Events>>(
    event: T,
    ...args: EventEmitter.EventArgs<Events, T>
  ): boolean {
    try {
      const heard = super.emit(event, ...args);
      if (!heard) this.unheard?.(event, args[0]);
      return heard;
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
      return true;
    }
  }
}
