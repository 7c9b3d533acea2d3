import { producersFor } from '../autotuner/limits.js';
import { BatchSize } from './batch-size.js';
import type { Epochs } from '../observe/epochs.js';
import { placesOf, type Place, type Source } from '../observe/places.js';

/** What a buffer keeps of a line. */
export interface Opened {
  readonly size: BatchSize;
  readonly epochs: Epochs;
  /** Producers that its source has use for. */
  readonly mostProducers: number;
  readonly placeOf: (key: string) => Place;
  /** Whether it had nothing to admit, or no room, when it was its turn. */
  isPassedOver: boolean;
  /** Whether its last sample was taken, or it has failed. */
  isOver: boolean;
}

/** Of a line that has just been made. */
export function openedOf(source: Source, epochs: Epochs): Opened {
  return {
    size: new BatchSize(),
    epochs,
    mostProducers: producersFor(source.readsAtOnce),
    placeOf: placesOf(source),
    isPassedOver: false,
    isOver: false,
  };
}
