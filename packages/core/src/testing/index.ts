/** For tests: faults, and control over time and interleavings. @module */
export {
  FaultDriver,
  type Fault,
  type FaultDriverOptions,
  type FaultRule,
} from '../decorators/fault-driver.js';
export { HoldingDriver, type HeldCall, type HoldingDriverOptions } from './holding-driver.js';
export { IndexedMemoryDriver } from './indexed-memory-driver.js';
export { ManualClock, settled, ticked } from './manual-clock.js';
export { MemoryLocks } from './memory-locks.js';
export { assertNothingHeld, TraceLog, listenersOn, outcomeOf } from './watching.js';
export { someBytes } from './some-bytes.js';
