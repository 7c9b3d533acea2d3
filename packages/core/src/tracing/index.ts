/**
 * For observers: the tracing channels of reads, placements and samples, by `node:diagnostics_channel`.
 * @module
 */
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
  type TraceEvent,
} from './channels.js';
