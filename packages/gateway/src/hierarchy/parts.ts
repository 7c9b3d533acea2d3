import type { Clock, Hierarchy } from '@tiered/core';
import type { FoundObject } from '../protocol/found-object.js';
import type { ChangingKeys } from './changing-keys.js';
import type { ReadWatch, ServedFrom } from './levels.js';
import type { PieceMemory } from './piece-memory.js';

/** An object of a hierarchy. */
export interface HierarchyObject extends FoundObject {
  /** Its key in the hierarchy. */
  readonly key: string;
  readonly id: number;
  readonly version: string;
  /** Where a read of it would be served from now. */
  readonly from: ServedFrom;
}

/** The dependencies of a storage. */
export interface StorageParts {
  readonly hierarchy: Hierarchy;
  /** Prefix of the hierarchy's keys. */
  readonly prefix: string;
  /** Keys of the hierarchy whose objects change. Undefined: none. */
  readonly changing: ChangingKeys | undefined;
  /** Whether an object that is on no tier is read from the source. */
  readonly fetches: (key: string, bytes: number) => boolean;
  readonly watch: ReadWatch;
  readonly memory: PieceMemory;
  readonly clock: Clock;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}
