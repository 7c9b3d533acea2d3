/**
 * Serves hierarchies as an S3 endpoint: reads come from tiers.
 * @module
 */
export { type S3Credentials } from './protocol/authentication.js';
export { accessLogLine, type AccessLogEntry } from './serving/access-log.js';
export { Gateway, type GatewayStats } from './serving/gateway.js';
export { mergedMetrics, type GatewayMetrics } from './serving/merged-metrics.js';
export {
  type GatewayBucket,
  type GatewayLimits,
  type GatewayMetricsOptions,
  type GatewayOptions,
  type GatewayWrites,
  type PeerFigures,
} from './serving/options.js';
