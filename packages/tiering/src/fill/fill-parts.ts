import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import type { Checksum, OperationScope } from '@tiered/core/internal';
import type { MemoryBudget } from '../memory/memory-budget.js';
import type { SourceGate } from '../source/gate.js';
import type { Claim } from '../tier/tier-store.js';
import type { Writers } from '../memory/writers.js';

/**
 * Fetches bytes of an object from the source or from another tier. The source may report progress before all
 * bytes have arrived. Bytes of a tier are compared with a sum first.
 */
export type BringBytes = (
  target: Uint8Array,
  offset: number,
  signal: AbortSignal,
  progress?: (bytes: number) => void,
  isWaitedFor?: () => boolean,
) => Promise<void>;

/** An object to copy, as it was when its fill began. */
export interface FillObject extends ObjectRef {
  /** Bytes of a chunk; the last one may be shorter. */
  readonly chunkBytes: number;
}

/** The task of a fill. */
export interface FillTask {
  readonly object: FillObject;
  /** The bytes for the copy: the whole object, or its beginning. */
  readonly claim: Claim;
  readonly bring: BringBytes;
}

/** Dependencies of all fills. */
export interface FillParts {
  readonly host: Pick<PlacementHost, 'tierFault'>;
  readonly gate: SourceGate;
  readonly writers: Writers;
  readonly budget: MemoryBudget;
  readonly checksum: Checksum;
  /** Maximum number of chunks of this object in flight in the background. */
  readonly lanes: number;
  /** Whether readers wait for memory. Otherwise they continue without it. */
  readonly readersWait: boolean;
  /**
   * Runs reads of bytes that the tier already has. Their readers may leave; closing the tier waits for the
   * reads.
   */
  readonly tierReads: OperationScope;
  /** Aborts when everything ends. */
  readonly closing: AbortSignal;
}

/** Whether the object still exists, at the version that is being placed. */
export function isCurrent(
  { namespace, versions }: PlacementHost,
  { id, version, size }: Omit<ObjectRef, 'key'>,
): boolean {
  return size === namespace.sizeOf(id) && (versions === 'ignore' || version === namespace.versionOf(id));
}

/** How a fill failed: on the side that bytes come from, or on the side of the tier. */
export interface FillFailure {
  readonly error: unknown;
  readonly side: 'source' | 'tier';
}

/** The part of a range in one chunk: its start in the object, and its target. */
export interface RangePart {
  readonly chunk: number;
  readonly start: number;
  readonly target: Uint8Array;
}

/** Splits a range into one part per chunk. The whole range lies within the copy. */
export function partsOf(offset: number, target: Uint8Array, chunkBytes: number): RangePart[] {
  const end = offset + target.byteLength;
  const parts: RangePart[] = [];
  for (let start = offset; start < end;) {
    const chunk = Math.floor(start / chunkBytes);
    const until = Math.min(end, (chunk + 1) * chunkBytes);
    parts.push({ chunk, start, target: target.subarray(start - offset, until - offset) });
    start = until;
  }
  return parts;
}

/**
 * Waits until the caller that made a fill has received it, and has requested its first chunks. At most this
 * many promises lie between the two.
 */
export async function callerHasFill(): Promise<void> {
  for (let tick = 0; tick < 4; tick++) await Promise.resolve();
}
