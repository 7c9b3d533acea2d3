/** Plans of the samples that each worker of a training keeps, computed from the seed. @module */
export {
  clusterPlan,
  homesOf,
  NO_HOME,
  type ClusterPlan,
  type ClusterPlanOptions,
  type SampleHolder,
  type WorkerAccesses,
} from './cluster-plan.js';
export { fillOrder, type FillOrderOptions } from './fill-order.js';
export {
  frequencyPlan,
  roomOf,
  savedMsBy,
  UNPLANNED,
  type FrequencyPlanOptions,
  type PlanRoom,
} from './frequency-plan.js';
export { bytesWithRoom, roomsOf, type NumberedObjects } from './plan-rooms.js';
export { sharedPlan, type SharedPlan, type SharedPlanOptions } from './shared-plan.js';
export { SharedReads, type Reader, type SharedReadsOptions } from './shared-reads.js';
export { TierSpace, tierSpaces, type SpaceObject, type SpaceOptions } from './tier-space.js';
