import { EventEmitter } from 'eventemitter3';
import type { Copy } from './tier-store.js';

/**
 * What happens on tiers, and concerns others than the one that meets it. The first argument is the level of
 * the tier. Listeners are called at once, and are not to throw.
 */
export class TierEvents extends EventEmitter<{
  /** A copy was adopted. */
  adopted: (level: number, id: number) => void;
  /** Another process removed a copy of this dataset. The copy must not be served any more. */
  left: (level: number, copy: Copy) => void;
  /** The index does not belong to this process any more. The tier has to be opened again. */
  lost: (level: number) => void;
  /** The copy of an object is being removed, by this process or another one, or is gone. */
  removed: (level: number, id: number) => void;
  /** The level may have bytes again that it could not grant. */
  room: (level: number) => void;
  /** The level has segments that are less than half full. */
  sparse: (level: number) => void;
  /** Another process has the tier from now on. The error of the call that met this says so. */
  taken: (level: number) => void;
  /** Earlier knowledge of the level's copies is void: its storage has another index, or another owner. */
  void: (level: number) => void;
}> {}
