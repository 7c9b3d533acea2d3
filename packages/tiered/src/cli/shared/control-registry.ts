import type { Registry } from '@tiered/cluster/registry';
import { loadConfig, type ControlSettings } from '@tiered/config';
import { TieredError, type Clock } from '@tiered/core';
import { meetingPlace } from '../../control/meeting-place.js';
import type { CommandHost } from '../host.js';
import type { ControlRegistryOptions } from '../options.js';

/**
 * Works with the registry in which jobs meet, and closes it.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not go together, and for a configuration
 * without a job; what the registry says.
 */
export async function withControlRegistry<T>(
  { clock }: CommandHost,
  options: ControlRegistryOptions,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const registry = meetingPlace(await settingsOf(options, clock), clock);
  try {
    await registry.open({});
    return await work(registry);
  } finally {
    await registry.close();
  }
}

async function settingsOf(
  { config, registry: place, name }: ControlRegistryOptions,
  clock: Clock,
): Promise<Pick<ControlSettings, 'name' | 'registry'>> {
  if (config !== undefined) {
    if ((place ?? name) !== undefined) throw wrong('give --config, or --registry and --name, not both');
    const { control } = await loadConfig(config, { clock });
    if (control === undefined) throw wrong(`${config} has no section "control", so nothing is shared by it`);
    return control;
  }
  if (place === undefined) return { name };
  if (NATS.test(place)) return { name, registry: { nats: { servers: place.split(',') } } };
  if (name !== undefined) throw wrong('give --name or the file of --registry, not both');
  return { registry: { sqlite: place } };
}

const NATS = /^(nats|tls):\/\//;

function wrong(what: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', what);
}

/** What somebody is told who looks where no job is. */
export function nobodyIn({ name }: Registry): string {
  return (
    `No job is in ${name}. A job comes in by the section "control" of its configuration, such as "control: { job: imagenet }", or by ` +
    '"tiered run --job NAME". If jobs meet elsewhere, give --config, --registry or --name.'
  );
}
