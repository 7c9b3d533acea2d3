export {
  placeChannel,
  prefetchChannel,
  readChannel,
  type PlaceCause,
  type PlaceOutcome,
  type PlaceTrace,
  type PrefetchTrace,
  type ReadTrace,
  type ServedBy,
  type TraceChannel,
} from './channels.js';
