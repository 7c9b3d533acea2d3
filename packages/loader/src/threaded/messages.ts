import type { LoaderFigures } from '../observe/figures.js';
import type { LoaderState } from '../state.js';
import type { ModuleFunction } from '../batches/functions.js';
import type { ErrorBody } from '../workers/messages.js';

/** What the thread of a loader is told when it starts. */
export interface LoaderThreadData {
  readonly make: ModuleFunction;
  readonly argument: unknown;
}

/** What the thread is asked. */
export type LoaderRequest =
  | { readonly type: 'take'; readonly batches: number }
  | { readonly type: 'figures'; readonly id: number }
  | { readonly type: 'close' };

/** A batch on its way. */
export interface SentBatch {
  readonly epoch: number;
  readonly index: number;
  readonly samples: Uint32Array;
  readonly data: unknown;
  /** Where the loader stands after it. */
  readonly state: LoaderState;
}

/** What it answers. */
export type LoaderAnswer =
  | { readonly type: 'ready'; readonly batchesPerEpoch: number; readonly state: LoaderState }
  | { readonly type: 'batch'; readonly batch: SentBatch }
  | { readonly type: 'over'; readonly state: LoaderState }
  | { readonly type: 'figures'; readonly id: number; readonly figures: LoaderFigures }
  | { readonly type: 'failed'; readonly error: ErrorBody };
