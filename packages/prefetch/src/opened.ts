import { BatchSize } from './batch-size.js';
import type { Epochs } from './epochs.js';
import { placesOf, type Place, type Source } from './places.js';

/** What a buffer keeps of a line. */
export interface Opened {
  readonly size: BatchSize;
  readonly epochs: Epochs;
  readonly placeOf: (key: string) => Place;
  /** Whether it had nothing to admit, or no room, when it was its turn. */
  isPassedOver: boolean;
  /** Whether its last sample was taken, or it has failed. */
  isOver: boolean;
}

/** Of a line that has just been made. */
export function openedOf(source: Source, epochs: Epochs): Opened {
  return { size: new BatchSize(), epochs, placeOf: placesOf(source), isPassedOver: false, isOver: false };
}
