/** Simulates how long a training takes on a system, and where its bytes come from. @module */
export { type SimulationResult, type SourceShare } from './engine/outcome.js';
export { scaledDown, parseChange, variantsOf, type Change, type Variant } from './engine/what-if.js';
export { simulate, type SimulateOptions, type Simulation } from './engine/simulate.js';
