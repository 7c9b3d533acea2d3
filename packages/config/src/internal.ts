/**
 * What the package `tiered` shares and users must not build on: it may change with any release.
 */
export { readDocument } from './file/document.js';
export { expandVariables, type Variable } from './file/environment.js';
export { nearest } from './check/unknown-keys.js';
export { loadMeetingPlace, type MeetingPlace } from './load-meeting-place.js';
