import type { LoaderFigures } from '../observe/figures.js';
import type { LoaderState } from '../state.js';
import type { ModuleFunction } from '../batches/functions.js';
import type { ErrorBody } from '../workers/messages.js';

/** The start data of a loader thread. */
export interface LoaderThreadData {
  readonly make: ModuleFunction;
  readonly argument: unknown;
}

/** Requests to the thread. */
export type LoaderRequest =
  | { readonly type: 'take'; readonly batches: number }
  | { readonly type: 'figures'; readonly id: number }
  | { readonly type: 'close' };

/** A batch in transfer. */
export interface SentBatch {
  readonly epoch: number;
  readonly index: number;
  readonly samples: Uint32Array;
  readonly data: unknown;
  /** The state of the loader after it. */
  readonly state: LoaderState;
}

/** Answers of the thread. */
export type LoaderAnswer =
  | { readonly type: 'ready'; readonly batchesPerEpoch: number; readonly state: LoaderState }
  | { readonly type: 'batch'; readonly batch: SentBatch }
  | { readonly type: 'over'; readonly state: LoaderState }
  | { readonly type: 'figures'; readonly id: number; readonly figures: LoaderFigures }
  | { readonly type: 'failed'; readonly error: ErrorBody };
