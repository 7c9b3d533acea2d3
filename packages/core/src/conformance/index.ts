export { driverConformance, type ConformanceOptions } from './driver-conformance.js';
export type { ConformanceSubject } from './subject.js';
