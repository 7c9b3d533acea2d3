/** What a tier holds, read from outside of a hierarchy. @module */
export { surveyTier } from './survey-tier.js';
export { type SurveyedCopy } from './surveyed-copy.js';
export { type SurveyedMember, type TierSummary, type TierSurvey } from './tier-survey.js';
