import type { ErrorBody } from '../error-body.js';

/** A request of a client in another thread. The client chooses `id`, which the answer repeats. */
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
  /** Samples were released since the host last looked. */
  | { readonly kind: 'released' };

/** A sample in shared memory. */
export interface LentToThread {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly data: Uint8Array;
  /** The index of the flag by which the client marks it as released. */
  readonly slot: number;
}

/** The answer to a request. */
export type ThreadAnswer =
  | { readonly id: number; readonly samples: readonly LentToThread[] }
  | { readonly id: number; readonly count: number }
  | { readonly id: number; readonly error: ErrorBody };

/** The first message to a client. */
export interface ThreadHello {
  /** A flag for each slot, after the doorbell. Slots begin at 1. */
  readonly flags: Int32Array;
}

/** The most samples that a client may hold at the same time. */
export const SLOTS = 8192;

/** The most samples that one take returns, as for a server: a large batch. */
export const MOST_OF_A_TAKE = 256;

/** The flag that the host sets to request a message at the next release. */
export const DOORBELL = 0;

/** The states of a slot's flag. */
export const LENT = 1;
export const RELEASED = 2;
