import { Cluster } from '@tiered/cluster';
import type { ClusterPlanSettings, ClusterSettings } from '@tiered/config';
import { parseBytes, type Clock, type HierarchyOptions, type OperationOptions } from '@tiered/core';
import { addressOf, identityOf } from '@tiered/core/internal';
import { isPlanFollower } from '@tiered/tiering';
import { policyOf } from '../configuration/levels.js';
import { registryOf } from './registry-of.js';

/** A cluster, and the number of its workers if that is fixed. */
export interface Joined {
  readonly cluster: Cluster;
  readonly size: number | undefined;
}

/**
 * Joins the cluster of a configuration.
 * @param made What the hierarchy of the configuration is made from.
 * @throws As `Cluster.join`, and as `registryOf`.
 */
export async function joinCluster(
  settings: ClusterSettings,
  made: HierarchyOptions,
  { clock, signal }: OperationOptions & { readonly clock: Clock },
): Promise<Joined> {
  const found = registryOf(settings, clock);
  const { token, share, host, deadlineMs } = settings;
  const { rank = found.rank, size = found.size } = settings;
  const { port = found.port, advertise = found.advertise } = settings;
  const agreed = agreedBy(settings, made);
  const { registry } = found;
  const options = { registry, rank, size, port, advertise, token, share, host, deadlineMs, agreed };
  return { cluster: await Cluster.join({ ...options, clock, signal }), size };
}

/**
 * What all workers have to have alike: the data, and, if they go by a plan, what it follows from. Each worker
 * makes the plan of all from its own tiers.
 */
function agreedBy({ plan }: ClusterSettings, { source, tiers = [], placement }: HierarchyOptions) {
  const [place, identity] = [addressOf(source), identityOf(source)];
  const policy = policyOf({ placement });
  // A path is the same data on all machines, and the file system at it is known to each by another number.
  const data = identity.startsWith(`${place}#`) ? place : identity;
  if (policy === undefined || !isPlanFollower(policy)) return { source: data };
  const rooms = tiers.map(({ quota, layout = 'files' }) => `${parseBytes(quota)} bytes in ${layout}`);
  return { source: data, tiers: rooms.join(', '), ...(plan && { plan: orderText(plan) }) };
}

function orderText({ sampler, seed, epochs, batchSize = 1, dropLast = false }: ClusterPlanSettings): string {
  return `${sampler}, seed ${seed}, epochs ${epochs}, batches of ${batchSize}${dropLast ? ', the last dropped' : ''}`;
}
