export { HoldingDriver, type HeldCall, type HoldingDriverOptions } from './holding-driver.js';
export { ManualClock, settled } from './manual-clock.js';
