import type { Operation, OperationOptions, ReadOutcome } from '../driver/driver.js';
import { readOutcome } from '../driver/helpers.js';
import { inSingleRanges } from '../driver/pieces.js';
import { isTieredError } from '../support/errors.js';
import { ABSENT, type MetadataContainer } from '../namespace/metadata-container.js';
import type { Placement, VersionPolicy } from '../placement/placement.js';
import { isPacked, offsetInFile } from '../tier/packed-tag.js';
import type { Tier } from '../tier/tier.js';
import type { HierarchyReadIntoOptions, HierarchyReadRequest } from './options.js';
import type { OnServed, TracedOptions } from '../tracing/operation.js';
import { clampLength, lengthOfPieces, piecesInvalid } from '../hierarchy/validation.js';

/** A read in flight, in the form that both drivers and the placement take. */
interface KnownRead {
  readonly id: number;
  readonly offset: number;
  readonly target: Uint8Array;
  readonly pieces: Float64Array | undefined;
  /** The file on the tier that contains the object's copy. The offset is relative to that file. */
  readonly key: string;
  /** The tag of the copy that is read; undefined if the key identifies it. */
  readonly tag: number | undefined;
  readonly isPart: boolean;
  /** Its index in the batch. */
  readonly index: number;
  /** Size of the object in bytes, as known when the range was clamped to it. */
  readonly size: number;
}

/** The dependencies of a batch path. */
export interface BatchPathParts {
  readonly namespace: MetadataContainer;
  readonly placement: Placement;
  readonly versions: VersionPolicy;
  /** Reads by key, for objects that may not be known yet. */
  readonly readInto: (
    key: string,
    target: Uint8Array,
    options: HierarchyReadIntoOptions & TracedOptions,
  ) => Promise<number>;
}

/** The part of `ReadPath` that a batch uses. Each read is counted and served as a single read is. */
export interface CountedReads {
  begin(reads: number): void;
  end(reads: number): void;
  countEmpty<T>(nothing: T, onServed: OnServed | undefined): T;
  tierOf(id: number): Tier | undefined;
  tagOf(id: number): number | undefined;
  fileOf(id: number, key: string, tag: number | undefined): string;
  isAt(tier: Tier, id: number, tag: number | undefined): boolean;
  served(tier: Tier, id: number, length: number, onServed: OnServed | undefined): void;
  tierFailed(tier: Tier, id: number, tag: number | undefined, operation: Operation, error: unknown): void;
}

/** A batch in flight. */
interface Batch {
  readonly requests: readonly HierarchyReadRequest[];
  readonly options: TracedOptions;
  readonly outcomes: ReadOutcome[];
}

/**
 * Serves many reads at once: one driver call per tier for the objects that the tier holds, and one call of
 * the placement for the others. Objects that these calls do not serve completely are read singly, where a
 * tier's faults are counted, and changed objects are looked up again. So a batch has the same result as its
 * reads made one by one.
 *
 * Costs some microseconds, an object and an outcome per read. Promises are made per call, not per read.
 */
export class BatchPath {
  readonly #parts: BatchPathParts;
  readonly #path: CountedReads;

  constructor(parts: BatchPathParts, path: CountedReads) {
    this.#parts = parts;
    this.#path = path;
  }

  /**
   * Makes the reads. Outcome i belongs to request i. Never rejects. No target is written to after it has
   * settled.
   */
  async readMany(
    requests: readonly HierarchyReadRequest[],
    options: TracedOptions,
  ): Promise<readonly ReadOutcome[]> {
    const batch: Batch = { requests, options, outcomes: requests.map(() => ({ bytes: 0 })) };
    this.#path.begin(requests.length);
    try {
      await Promise.all(this.#start(batch));
    } finally {
      this.#path.end(requests.length);
    }
    return batch.outcomes;
  }

  /** Starts every read. The returned promises do not reject. */
  #start(batch: Batch): Promise<void>[] {
    const groups = new Map<Tier | undefined, KnownRead[]>();
    const singles: number[] = [];
    for (const [index, { key, target, offset = 0, pieces }] of batch.requests.entries()) {
      const id = this.#parts.namespace.find(key);
      if (id === ABSENT) {
        singles.push(index);
        continue;
      }
      const size = this.#parts.namespace.sizeOf(id);
      const length = this.#lengthOf(batch, index, size, offset);
      if (length === undefined) continue;
      if (length === 0) {
        this.#path.countEmpty(0, batch.options.onServed);
        continue;
      }
      const tier = this.#path.tierOf(id);
      const range = length === target.byteLength ? target : target.subarray(0, length);
      const tag = tier === undefined ? undefined : this.#path.tagOf(id);
      const file = this.#path.fileOf(id, key, tag);
      const at = offsetInFile(tag) + offset;
      const isPart = isPacked(tag);
      const read = { index, id, key: file, tag, isPart, offset: at, target: range, pieces, size };
      const group = groups.get(tier);
      if (group === undefined) groups.set(tier, [read]);
      else group.push(read);
    }
    const started = [...groups].map(([tier, reads]) =>
      tier === undefined ? this.#fromPlacement(batch, reads) : this.#fromTier(batch, tier, reads),
    );
    return [...started, this.#singly(batch, singles)];
  }

  /**
   * Returns the number of bytes to read; undefined if the range is invalid, in which case the error is the
   * outcome.
   */
  #lengthOf({ requests, outcomes }: Batch, index: number, size: number, offset: number): number | undefined {
    const { key = '', target, pieces } = requests[index] ?? {};
    try {
      if (pieces !== undefined) return lengthOfPieces(key, pieces, size - offset, target?.byteLength);
      return clampLength(key, size, offset, target?.byteLength);
    } catch (error) {
      outcomes[index] = { error };
      return undefined;
    }
  }

  async #fromTier(batch: Batch, tier: Tier, reads: readonly KnownRead[]): Promise<void> {
    const found = await this.#outcomesOf(tier, reads, batch.options);
    const unserved: KnownRead[] = [];
    const late: KnownRead[] = [];
    for (const [i, read] of reads.entries()) {
      const { index, id, tag, offset, target } = read;
      const outcome = found[i];
      if (outcome !== undefined && 'bytes' in outcome && outcome.bytes === target.byteLength) {
        this.#path.served(tier, id, outcome.bytes, batch.options.onServed);
        batch.outcomes[index] = outcome;
      } else if (isLate(outcome) && this.#path.isAt(tier, id, tag)) {
        // Asking the tier again could take as long again.
        this.#path.tierFailed(tier, id, tag, 'readInto', outcome.error);
        late.push({ ...read, offset: offset - offsetInFile(tag) });
      } else unserved.push(read);
    }
    await Promise.all([this.#anew(batch, unserved), this.#fromPlacement(batch, late)]);
  }

  /** Resolves to the outcomes of a tier's reads: all with the same error if the call itself failed. */
  async #outcomesOf(
    tier: Tier,
    reads: readonly KnownRead[],
    { signal }: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    // A driver may also throw synchronously.
    const call = async () => tier.readMany(reads, { signal });
    return call().catch((error: unknown) => reads.map(() => ({ error })));
  }

  async #fromPlacement(batch: Batch, reads: readonly KnownRead[]): Promise<void> {
    const { placement, versions, namespace } = this.#parts;
    const asked = reads.map(({ id, offset, target, pieces }) => ({
      object: namespace.objectOf(id),
      offset,
      target,
      pieces,
    }));
    const found = await placement
      .readMany(asked, batch.options)
      .catch((error: unknown) => reads.map(() => ({ error })));
    const changed: KnownRead[] = [];
    for (const [i, read] of reads.entries()) {
      const outcome = found[i] ?? { bytes: 0 };
      batch.outcomes[read.index] = outcome;
      const isChanged =
        'error' in outcome
          ? versions !== 'pin' && isTieredError(outcome.error, 'TIERED_SOURCE_CHANGED')
          : // The object was listed again meanwhile, so the range was clamped to the end of another version.
            namespace.sizeOf(read.id) !== read.size;
      if (isChanged) changed.push(read);
    }
    await this.#anew(batch, changed);
  }

  /** Repeats single reads that may already have written to their targets. */
  async #anew(batch: Batch, reads: readonly KnownRead[]): Promise<void> {
    await this.#singly(
      batch,
      reads.map(({ index }) => index),
    );
    for (const { index, target } of reads) {
      const outcome = batch.outcomes[index];
      if (outcome !== undefined && 'bytes' in outcome)
        nothingBehind(target, Math.min(outcome.bytes, target.byteLength), target.byteLength);
    }
  }

  /** Makes single reads for some requests of the batch, all at once. */
  async #singly({ requests, options, outcomes }: Batch, indexes: readonly number[]): Promise<void> {
    const { signal, onServed } = options;
    const readOne = async (index: number) => {
      const request = requests[index];
      if (request === undefined) return;
      if (request.pieces !== undefined) {
        outcomes[index] = await readPieces(this.#parts.readInto, request, { signal, onServed });
        return;
      }
      const { key, target, offset } = request;
      outcomes[index] = await readOutcome(this.#parts.readInto(key, target, { offset, signal, onServed }));
    };
    await Promise.all(indexes.map(readOne));
  }
}

function isLate(outcome: ReadOutcome | undefined): outcome is { readonly error: unknown } {
  return outcome !== undefined && 'error' in outcome && isTieredError(outcome.error, 'TIERED_DEADLINE');
}

/** Reads the pieces of a request one by one. */
async function readPieces(
  readInto: BatchPathParts['readInto'],
  { key, target, offset = 0, pieces }: HierarchyReadRequest,
  options: TracedOptions,
): Promise<ReadOutcome> {
  try {
    lengthOfPieces(key, pieces ?? new Float64Array(), Infinity, target.byteLength);
  } catch (error) {
    return { error };
  }
  const { requests, join } = inSingleRanges([{ key, target, offset, pieces }]);
  const ranges = requests.map((one) =>
    readOutcome(readInto(key, one.target, { ...options, offset: one.offset })),
  );
  const [outcome = { bytes: 0 }] = join(await Promise.all(ranges));
  if ('error' in outcome || outcome.bytes === target.byteLength) return outcome;
  return { error: piecesInvalid(key) };
}

/**
 * Overwrites with zeros the bytes that an earlier try wrote behind those of this one. Otherwise they would
 * look like part of the object. Returns the number of bytes read.
 */
export function nothingBehind(target: Uint8Array, count: number, written: number): number {
  if (count < written) target.fill(0, count, written);
  return count;
}
