import type { Registry } from '../../src/registry/index.js';
import { SqliteRegistry } from '../../src/registry/index.js';
import { NatsRegistry, type NatsRegistryOptions } from '../../src/registry/nats.js';

/** What a process has to be told to reach a registry. */
export type Engine =
  { readonly kind: 'sqlite'; readonly path: string } | ({ readonly kind: 'nats' } & NatsRegistryOptions);

/** A registry as users have it, with the clocks of the machine. */
export function registryOn(engine: Engine): Registry {
  return engine.kind === 'sqlite' ? new SqliteRegistry(engine) : new NatsRegistry(engine);
}
