/** Internals that this repository's packages share. Not for users: they may change with any release. */
export { limitsOf } from './observe/limit.js';
export { reportOf } from './observe/report.js';
export { followPlan, planOfRanks, type RankPlan } from './plan-of-ranks.js';
export { sharedName } from './reading/described-job.js';
