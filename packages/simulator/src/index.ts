/** How long a training would take on a system, and where its bytes would come from. @module */
export { type SimulationResult, type SourceShare } from './engine/outcome.js';
export { scaledDown, parseChange, variantsOf, type Change, type Variant } from './engine/what-if.js';
export { simulate, type SimulateOptions, type Simulation } from './engine/simulate.js';
