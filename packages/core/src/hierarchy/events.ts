import { EventEmitter } from 'eventemitter3';
import type { Operation } from '../driver/driver.js';
import type { CopyPlace, DropReason } from '../placement/placement.js';
import type { TierUse } from '../tier/tier.js';

/** The events that a `Hierarchy` emits while it works. The key is the name of the event. */
export interface HierarchyEvents {
  /** A page of the source's listing was taken in. The numbers are totals of this listing so far. */
  scan: (progress: { readonly objects: number; readonly bytes: number }) => void;
  /**
   * A listing of the source has ended, and left out what looks like objects: symbolic links out of its root,
   * for example. Emitted once a listing for each reason, with how many there are, and the key of the first.
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
   * Other data is at the place of the source than a tier has copies of: another file system is mounted there,
   * for example. These copies are not served. They stay on the tier, and count, in case that data comes back.
   * Told once for each tier and data; what is there is fetched anew. If it is the same data, give it a name
   * (`identity` of `FileSystemDriver`).
   */
  sourceReplaced: (event: { readonly level: number; readonly source: string }) => void;
  /**
   * Reads of an object go to another copy from now on, or to the source. Told before the copy that they leave
   * is deleted. `id` is that of the namespace.
   */
  moved: (event: { readonly id: number; readonly place: CopyPlace | undefined }) => void;
  /** An object, or its first `bytes`, is on a tier and is served from there from now on. */
  placed: (event: { readonly key: string; readonly level: number; readonly bytes: number }) => void;
  /** A copy was dropped: it is not served any more, and is being deleted. */
  dropped: (event: { readonly key: string; readonly level: number; readonly reason: DropReason }) => void;
  /**
   * The storage of a tier was full before its quota was. The tier holds no more than `quotaBytes` from now
   * on.
   */
  tierShrunk: (event: { readonly level: number; readonly quotaBytes: number }) => void;
  /** An object could not be placed. Its reads are served from the source. */
  placementFailed: (event: { readonly key: string; readonly level: number; readonly error: unknown }) => void;
  /** A tier failed an operation, which was served from elsewhere. */
  tierFault: (event: TierFault) => void;
  /** A tier failed repeatedly and is passed over for `retryInMs`, then tried again. */
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

/** A fault of a tier: which operation on which object failed, and why. */
export interface TierFault {
  readonly level: number;
  readonly operation: Operation;
  readonly key: string;
  readonly error: unknown;
}

/**
 * An eventemitter3 whose listeners cannot break the work that emits. A listener that throws is a bug of its
 * author. Its error surfaces as an uncaught exception, after the emitting operation went on.
 */
export class SafeEmitter<Events extends EventEmitter.ValidEventTypes> extends EventEmitter<Events> {
  /** Called with events that nobody listens to. */
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
