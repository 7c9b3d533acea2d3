export { type S3ServerCredentials } from './authentication.js';
export { type ChecksumAlgorithm } from '../http/checksums.js';
export { type Fault, type FaultPlan, type FaultRule } from './fault-plan.js';
export { type Faults } from './faults.js';
export { type S3Operation } from './requests.js';
export { S3Server, type S3RequestCounts, type S3ServerOptions } from './server.js';
