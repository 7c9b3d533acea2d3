export { PlacementHandler, type PlacementHandlerOptions } from './placement-handler.js';
export { firstFit, type PlacementCandidate, type PlacementPolicy, type TierRoom } from './policy.js';
