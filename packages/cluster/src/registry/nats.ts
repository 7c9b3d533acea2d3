/** A registry on NATS JetStream. Needs the packages `@nats-io/transport-node` and `@nats-io/kv`. */
export { NatsRegistry } from './nats-registry.js';
export type { NatsRegistryOptions, NatsTls } from './nats-options.js';
