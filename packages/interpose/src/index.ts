/**
 * A hierarchy under programs that know nothing of it.
 * @module
 */
export { Interposer, type InterposerStats } from './daemon/interposer.js';
export { type EpochOfFiles, type OpenedFiles } from './daemon/open-counts.js';
export { type ProgramsSeen } from './ring/ring.js';
export { type FarmCounts } from './daemon/farm.js';
export { type SessionOptions } from './daemon/session.js';
export { type ProgramWait } from './daemon/waits.js';
export { hasDaemonAt, aboutSession, type SessionAbout } from './daemon/session-directory.js';
export { MemoryDirectory } from './daemon/memory-directory.js';
export { rescanAt } from './ask-daemon.js';
export { environmentAt, SESSION_VARIABLE, shimFile } from './shim-file.js';
export { type AheadCounts } from './replay/ahead.js';
export { cutTrace, keysOf, mergeTraces, readTrace, traceLine, type TraceEntry } from './replay/trace.js';
