import type { Registry } from '@tiered/cluster/registry';
import type { RegistryConfig } from '@tiered/config';
import { TieredError } from '@tiered/core';
import { registryOf } from '../../cluster/registry-of.js';
import type { CommandHost } from '../host.js';
import type { ControlRegistryOptions } from '../options.js';

/** The name of the registry of those who name none. */
const NAME = 'control';

/**
 * Works with the registry in which jobs meet, and closes it.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not go together; what the registry says.
 */
export async function withControlRegistry<T>(
  { clock }: CommandHost,
  { registry: place, name }: ControlRegistryOptions,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const isFile = place !== undefined && !NATS.test(place);
  if (isFile && name !== undefined)
    throw new TieredError('TIERED_CONFIG_INVALID', 'give --name or the file of --registry, not both');
  const { registry } = registryOf({ name: name ?? NAME, registry: configOf(place) }, clock);
  try {
    await registry.open({});
    return await work(registry);
  } finally {
    await registry.close();
  }
}

const NATS = /^(nats|tls):\/\//;

function configOf(place: string | undefined): RegistryConfig {
  if (place === undefined) return 'sqlite';
  return NATS.test(place) ? { nats: { servers: place.split(',') } } : { sqlite: place };
}

/** What somebody is told who looks where no job is. */
export function nobodyIn({ name }: Registry): string {
  return (
    `No job is in ${name}. A job comes in by the section "control" of its configuration, such as "control: { job: imagenet }", or by ` +
    '"tiered run --job NAME". If jobs meet elsewhere, give --registry or --name.'
  );
}
