/** Internals for the package `tiered`. Not for users: they may change with any release. */
export { readDocument } from './file/document.js';
export { expandVariables, type Variable } from './file/environment.js';
export { nearest } from './check/unknown-keys.js';
export { loadMeetingPlace, type MeetingPlace } from './load-meeting-place.js';
