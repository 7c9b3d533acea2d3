/** Fair shares of the resources that jobs have in common: sources, memory and producers. */
export { Control, type ControlEvents, type ControlSourceOptions, type StageShares } from './control.js';
export { checkedTerms, type ControlOptions, type RateOptions, type TermsOptions } from './options.js';
export { look, setPolicy, type Policy, type Seen } from './records/board.js';
export type { PolicyRecord, Stage, StageRecord } from './records/stage-record.js';
export { admission, type Admission, type Candidate, type Effect } from './shares/admission.js';
export {
  decide,
  type BudgetOrigin,
  type Decision,
  type JobDecision,
  type SourceDecision,
} from './shares/decide.js';
export { explain } from './shares/explain.js';
export { explainTiers } from './shares/explain-tiers.js';
export { maxMin, MOST_GUARANTEED, type BoundBy, type Claim } from './shares/max-min.js';
export type { NodeShare } from './shares/node-shares.js';
export type { Rate } from './shares/rate.js';
export type { JobBoundBy } from './shares/source-shares.js';
export type { StageSequence } from './stage/sequences.js';
export type { Terms } from './shares/terms.js';
export type { TierShare } from './stage/followed-tiers.js';
export type { JobAtTier, TierDecision, TierPart } from './shares/tier-shares.js';
