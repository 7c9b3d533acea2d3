/** For authors of drivers: the tests of the contract. @module */
export { driverConformance, type ConformanceOptions } from './driver-conformance.js';
export type { ConformanceSubject } from './subject.js';
