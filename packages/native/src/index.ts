/** File I/O in native threads, and memory that processes share. @module */
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
export { failureOf, NativeError, type FailureCode, type MemoryStep, type WriteStep } from './outcomes.js';
export { MemoryRequest, MOST_SHARED_BYTES, SharedMemory } from './shared-memory.js';
