import { NatsRegistry, type NatsRegistryOptions } from '@tiered/cluster/nats';
import { SqliteRegistry, type Registry } from '@tiered/cluster/registry';
import type { NatsConfig, TableConfig } from '@tiered/config';
import type { Clock } from '@tiered/core';

/** What is the same for each registry. */
interface TableOptions {
  readonly name: string;
  readonly clock: Clock;
  /** Milliseconds that all records of a bucket of NATS live. Default: those of `NatsRegistry`. */
  readonly ttlMs?: number | undefined;
  /** Whether a bucket of NATS is made that is not there. Default: as `NatsRegistry`. */
  readonly make?: boolean | undefined;
}

/**
 * Makes the table that a configuration names. Nothing is opened.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field.
 */
export function tableOf(registry: TableConfig, { name, clock, ttlMs, make }: TableOptions): Registry {
  if (registry === 'sqlite') return SqliteRegistry.named(name, { clock });
  if ('sqlite' in registry) return new SqliteRegistry({ path: registry.sqlite, clock });
  return natsOf(registry.nats, { name, ttlMs, make, clock });
}

/** Its packages, which only those have who use it, are loaded when it is opened. */
function natsOf(
  config: NatsConfig,
  options: Pick<NatsRegistryOptions, 'name' | 'ttlMs' | 'make' | 'clock'>,
): NatsRegistry {
  const { caFile, certFile, keyFile, ...nats } = config;
  const files = [caFile, certFile, keyFile];
  const tls = files.every((file) => file === undefined) ? undefined : { caFile, certFile, keyFile };
  return new NatsRegistry({ ...nats, ...options, tls });
}
