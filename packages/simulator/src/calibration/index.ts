/** Measures storage, and makes a system from the figures. @module */
export { calibrate, type CalibrationOptions } from './calibrate.js';
export {
  fetchModelOf,
  initialProducersOf,
  parseProfile,
  peerModelOf,
  placementConcurrencyOf,
  systemOf,
  unsteadyIn,
  type CalibrationProfile,
  type PlaceProfile,
  type SystemRest,
} from './profile.js';
export { rateOf, type Budget, type Lane } from './rate.js';
export { SomeObjects } from './trial.js';
