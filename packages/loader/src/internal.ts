/**
 * What the packages of this repository share and users must not build on: it may change with any release.
 */
export { limitsOf } from './observe/limit.js';
export { reportOf } from './observe/report.js';
export { followPlan, planOfRanks, type RankPlan } from './plan-of-ranks.js';
export { sharedName } from './reading/described-job.js';
