import type { ErrorBody } from '../error-body.js';

/** What a client in another thread asks for; `id` is its own and comes back with the answer. */
export type ThreadRequest =
  | { readonly kind: 'take'; readonly id: number; readonly most: number }
  | {
      readonly kind: 'read';
      readonly id: number;
      readonly key: string;
      readonly target: Uint8Array;
      readonly offset: number;
    }
  | { readonly kind: 'cancel'; readonly id: number }
  /** Samples were released while somebody waited for memory. */
  | { readonly kind: 'released' };

/** A sample that lies in shared memory. */
export interface LentToThread {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly data: Uint8Array;
  /** Where in the release flags its client says that it is done with it. */
  readonly slot: number;
}

/** The answer to a request. */
export type ThreadAnswer =
  | { readonly id: number; readonly samples: readonly LentToThread[] }
  | { readonly id: number; readonly count: number }
  | { readonly id: number; readonly error: ErrorBody };

/** The first message to a client. */
export interface ThreadHello {
  /** `RELEASES` flags; the first one is the doorbell. */
  readonly flags: Int32Array;
}

/** Samples that a client may hold at the same time. */
export const SLOTS = 8192;

/** Samples that one take gives at most, as from a server: a large batch. */
export const MOST_OF_A_TAKE = 256;

/** The flag that the host sets when it wants to be told of the next release. */
export const DOORBELL = 0;

/** States of a slot's flag. */
export const LENT = 1;
export const RELEASED = 2;
