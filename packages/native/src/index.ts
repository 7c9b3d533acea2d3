export {
  IoThreads,
  type FileToWrite,
  type IoCounts,
  type IoThreadsOptions,
  type ReadManyOptions,
} from './io-threads.js';
export { native, type Native } from './load.js';
export { failureOf, NativeError, type FailureCode, type WriteStep } from './outcomes.js';
