import { StaticRegistry, type Registry } from '@tiered/cluster/registry';
import type { ClusterSettings } from '@tiered/config';
import type { Clock } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { isLoopback } from '@tiered/gateway/internal';
import { tableOf } from './table-of.js';

/** A registry, and what follows from it for this worker. */
export interface FoundRegistry extends Pick<ClusterSettings, 'rank' | 'size' | 'port' | 'advertise'> {
  readonly registry: Registry;
}

/**
 * Makes the registry that a configuration names. Nothing is opened.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, or the variable of the environment.
 */
export function registryOf(settings: ClusterSettings, clock: Clock): FoundRegistry {
  const { name, registry = 'sqlite' } = settings;
  if (registry === 'torch') return ofTorch(settings);
  if (registry === 'sqlite' || !('peers' in registry))
    return { registry: tableOf(registry, { name, clock }) };
  const members = registry.peers.map((url, rank) => ({ rank, url }));
  const own = ownAddress(settings, registry.peers[settings.rank ?? 0]);
  return { registry: new StaticRegistry({ members }), size: members.length, ...own };
}

/** As torchrun sets the environment of each worker. */
function ofTorch(settings: ClusterSettings): FoundRegistry {
  const { RANK } = process.env;
  if (settings.rank === undefined && !/^\d+$/.test(RANK ?? ''))
    throw configError('RANK', 'the number of this worker, as torchrun sets it', RANK);
  const rank = settings.rank ?? Number(RANK);
  const registry = StaticRegistry.fromTorch();
  const { members } = registry;
  const own = ownAddress(settings, members.find((member) => member.rank === rank)?.url);
  return { registry, rank, size: members.length, ...own };
}

/**
 * Where a worker serves that others know from a list.
 * @throws TieredError `TIERED_CONFIG_INVALID` if they could not reach it there.
 */
function ownAddress({ host = '127.0.0.1' }: ClusterSettings, advertise: string | undefined) {
  if (advertise === undefined) return {};
  const { hostname, port } = new URL(advertise);
  if (isLoopback(host) && !isLoopback(hostname.replace(/^\[|\]$/g, '')))
    throw configError('host', `an address that others reach as ${hostname}, such as 0.0.0.0`, host);
  return { advertise, port: port === '' ? 80 : Number(port) };
}
