/**
 * Decorators for any driver: retries, limits, hedged reads, a throttle, a prefix, a single object and
 * metrics.
 * @module
 */
export { HedgeDriver, type HedgeDriverOptions, type HedgeMetrics } from './hedge-driver.js';
export { LimitDriver, type LimitDriverOptions } from './limit-driver.js';
export { MetricsDriver, type DriverMetrics, type OperationMetrics } from './metrics-driver.js';
export { ObjectDriver } from './object-driver.js';
export { PrefixDriver } from './prefix-driver.js';
export { RetryDriver, type RetryDriverOptions } from './retry-driver.js';
export { ThrottleDriver, type ThrottleDriverOptions } from './throttle-driver.js';
