import { EventEmitter } from 'eventemitter3';
import type { Copy } from './tier-store.js';

/**
 * Events of tiers that concern other parts than the one that notices them. The first argument is the level of
 * the tier. Listeners are called synchronously, and must not throw.
 */
export class TierEvents extends EventEmitter<{
  /** A copy was adopted. */
  adopted: (level: number, id: number) => void;
  /** Another process removed a copy of this dataset. The copy must not be served any more. */
  left: (level: number, copy: Copy) => void;
  /** The index does not belong to this process any more. The tier must be opened again. */
  lost: (level: number) => void;
  /** The copy of an object is being removed, by this process or another one, or is gone. */
  removed: (level: number, id: number) => void;
  /** The level may now have bytes that it could not grant before. */
  room: (level: number) => void;
  /** The level has segments that are less than half full. */
  sparse: (level: number) => void;
  /** Another process has taken over the tier. The call that noticed it fails with an error that says so. */
  taken: (level: number) => void;
  /** Everything known about the level's copies is void: its storage has another index, or another owner. */
  void: (level: number) => void;
}> {}
