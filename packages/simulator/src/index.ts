export { type SimulationResult, type SourceShare } from './engine/outcome.js';
export { scaledDown } from './engine/scaled-down.js';
export { simulate, type SimulateOptions, type Simulation } from './engine/simulate.js';
export { parseChange, variantsOf, type Change, type Variant } from './engine/what-if.js';
