/** Several nodes as one cache. */
export {
  Cluster,
  type ClusterEvents,
  type ClusterSourceOptions,
  type ClusterStats,
  type PeerStats,
} from './cluster.js';
export {
  SharedTierDriver,
  type SharedTierMetrics,
  type SharedTierOptions,
} from './shared-tier/shared-tier-driver.js';
export { RangesDriver, type RangesOptions } from './ranges/ranges-driver.js';
export type { Homes } from './homes/homes.js';
export type { HomePlan } from './homes/plan-homes.js';
export type { MemberRecord } from './member.js';
export type { Member } from './membership/members.js';
export type { ClusterOptions } from './options.js';
export type { PeerCounts } from './peers/peer.js';
export type { PeerReadCounts, PeersDriver } from './peers/peers-driver.js';
