/** Shared by the packages of this repository. Users must not depend on it: it may change with any release. */
export { Recency } from './admission/recency.js';
