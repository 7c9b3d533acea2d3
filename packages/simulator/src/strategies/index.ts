/** Strategies, which decide what each worker keeps in a simulation. @module */
export { noPfs, type NoPfsOptions } from './no-pfs.js';
export { STRATEGIES } from './all.js';
export { placed } from './placed.js';
export { localityAware, type LocalityAwareOptions } from './shared-memory.js';
export { Copies, NOWHERE, type Strategy, type StrategyRun, type World } from './strategy.js';
