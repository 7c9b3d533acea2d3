export { DEFAULT_ASSUMPTIONS, type Assumptions } from './assumptions.js';
export { SCENARIOS, ault, type Scenario } from './scenarios.js';
export { simulate, type SimulateOptions, type Simulation } from './simulate.js';
export { STRATEGIES } from './strategies/index.js';
export { frequency } from './strategies/frequency.js';
