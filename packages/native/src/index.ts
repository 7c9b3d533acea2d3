/** File I/O in native threads, memory that processes share, and locks between them. @module */
export {
  IoThreads,
  type BatchRead,
  type FileToWrite,
  type IoCounts,
  type IoThreadsOptions,
  type PieceRead,
  type ReadAtOptions,
  type ReadManyOptions,
  type TargetOptions,
} from './io-threads.js';
export { native, type Native } from './load.js';
export { NumberLocks } from './number-locks.js';
export {
  failureOf,
  NativeError,
  type FailureCode,
  type LockStep,
  type MemoryStep,
  type WriteStep,
} from './outcomes.js';
export { MemoryRequest, MOST_SHARED_BYTES, SharedMemory } from './shared-memory.js';
