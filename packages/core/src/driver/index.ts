/** For authors of drivers and decorators: the contract, and base classes that enforce it. @module */
export { BaseDriver, type BaseDriverOptions } from './base-driver.js';
export { InterceptingDriver, type DriverCall } from '../decorators/intercepting-driver.js';
export type {
  CreateOptions,
  DriverCapabilities,
  DriverUsage,
  HomeLocks,
  IndexHome,
  ListOptions,
  ObjectStat,
  ObjectWriter,
  Operation,
  OperationOptions,
  PeerReads,
  ReadIntoOptions,
  ReadOptions,
  ReadOutcome,
  ReadRequest,
  StorageDriver,
  WriteData,
  WriteOptions,
} from './driver.js';
export {
  type CheckedOptions,
  type DriverContext,
  type DriverFactory,
  type FactoryContext,
  type OptionIssue,
  type OptionsSchema,
} from '../factories.js';
export { bufferedWriter, checkedPieces, notFound, readEach, unsupported, versionChanged } from './helpers.js';
export { multipartWritesOf, type MultipartWrites, type WrittenPart } from './multipart-writes.js';
export { inRuns, inSingleRanges, type Runs, type SingleRanges } from './pieces.js';
