/** The contents of a tier, read from outside a hierarchy. @module */
export { surveyTier } from './survey-tier.js';
export { type SurveyedCopy } from './surveyed-copy.js';
export { type SurveyedMember, type TierSummary, type TierSurvey } from './tier-survey.js';
