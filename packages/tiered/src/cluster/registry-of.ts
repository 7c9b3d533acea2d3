import { SqliteRegistry, StaticRegistry, type Registry } from '@tiered/cluster/registry';
import type { ClusterSettings, NatsConfig } from '@tiered/config';
import { TieredError, type Clock } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { isLoopback } from '@tiered/gateway/internal';

/** A registry, and what follows from it for this worker. */
export interface FoundRegistry extends Pick<ClusterSettings, 'rank' | 'size' | 'port' | 'advertise'> {
  readonly registry: Registry;
}

/**
 * Makes the registry that a configuration names, and loads what it needs. Nothing stays open.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, or the variable of the environment.
 */
export async function registryOf(settings: ClusterSettings, clock: Clock): Promise<FoundRegistry> {
  const { name, registry = 'sqlite' } = settings;
  if (registry === 'torch') return ofTorch(settings);
  if (registry === 'sqlite') return { registry: SqliteRegistry.named(name, { clock }) };
  if ('sqlite' in registry) return { registry: new SqliteRegistry({ path: registry.sqlite, clock }) };
  if ('nats' in registry) return { registry: await natsRegistryOf(name, registry.nats, clock) };
  const members = registry.peers.map((url, rank) => ({ rank, url }));
  const own = ownAddress(settings, registry.peers[settings.rank ?? 0]);
  return { registry: new StaticRegistry({ members }), size: members.length, ...own };
}

/** As torchrun sets the environment of each worker. */
async function ofTorch(settings: ClusterSettings): Promise<FoundRegistry> {
  const { RANK = '', WORLD_SIZE } = process.env;
  if (settings.rank === undefined && !/^\d+$/.test(RANK))
    throw configError('RANK', 'the number of this worker, as torchrun sets it', process.env['RANK']);
  const rank = settings.rank ?? Number(RANK);
  const list = StaticRegistry.fromTorch();
  await list.open();
  const records = (await list.all()).map(
    ({ record }) => record as { readonly rank: number; readonly url: string },
  );
  await list.close();
  const own = ownAddress(settings, records.find((record) => record.rank === rank)?.url);
  return { registry: StaticRegistry.fromTorch(), rank, size: Number(WORLD_SIZE), ...own };
}

/** Loads the packages of NATS, which only those have who use them. */
async function natsRegistryOf(name: string, config: NatsConfig, clock: Clock): Promise<Registry> {
  const { natsOf } = await import('./nats-of.js').catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' ? notInstalled(error) : error;
  });
  return natsOf(name, config, clock);
}

function notInstalled(cause: unknown): TieredError {
  const message = 'registry: NATS needs two packages; npm install @nats-io/transport-node @nats-io/kv';
  return new TieredError('TIERED_CONFIG_INVALID', message, { cause });
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
