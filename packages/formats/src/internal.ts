/**
 * What the packages of this repository share and users must not build on: it may change with any release.
 * @module
 */
export { DamageLimit } from './samples/damage-limit.js';
export { isDirectoryMark } from './samples/no-samples.js';
