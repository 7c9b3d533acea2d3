/** Where objects live: the placement, and its policies. @module */
export { placeInOrder, type FillCounts, type PlaceInOrderOptions } from './admission/place-in-order.js';
export { PlacementHandler } from './placement-handler.js';
export type { PlacementHandlerOptions } from './options.js';
export { firstFit } from './policies/first-fit.js';
export { frequency, type FrequencyOptions } from './policies/frequency.js';
export { lru } from './policies/lru.js';
export { pinned, type Pin, type PinnedOptions } from './policies/pinned.js';
export { type PlacementCandidate, type PlacementPolicy, type TierRoom } from './policies/policy.js';
export { isPlanFollower, planFollower, type PlanFollower } from './policies/plan-follower.js';
export { promoting } from './policies/promoting.js';
export { sizeAware, type SizeAwareOptions } from './policies/size-aware.js';
