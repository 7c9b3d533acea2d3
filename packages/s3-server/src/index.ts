export { type Fault, type FaultPlan, type FaultRule } from './faults/fault-plan.js';
export { type Faults } from './faults/faults.js';
export { type S3Credentials as S3ServerCredentials } from '@tiered/gateway/internal';
export { type ChecksumAlgorithm } from '@tiered/gateway/internal';
export { type S3Operation } from './protocol/requests.js';
export { S3Server, type S3RequestCounts, type S3ServerOptions } from './server.js';
