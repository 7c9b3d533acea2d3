import { NatsRegistry } from '@tiered/cluster/nats';
import type { NatsConfig } from '@tiered/config';
import type { Clock } from '@tiered/core';

/** The registry on NATS that a configuration names. Nothing is opened. */
export function natsOf(name: string, config: NatsConfig, clock: Clock): NatsRegistry {
  const { caFile, certFile, keyFile, ...nats } = config;
  const files = [caFile, certFile, keyFile];
  const tls = files.every((file) => file === undefined) ? undefined : { caFile, certFile, keyFile };
  return new NatsRegistry({ ...nats, name, tls, clock });
}
