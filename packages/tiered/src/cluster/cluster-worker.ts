import type { Cluster } from '@tiered/cluster';
import type { ClusterPlanSettings, LoadedConfig } from '@tiered/config';
import {
  isTieredError,
  TieredError,
  type Clock,
  type FetchModel,
  type Hierarchy,
  type HierarchyOptions,
  type PeerModel,
} from '@tiered/core';
import { isPlanFollower, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { policyOf } from '../configuration/levels.js';
import { warnProcess, type LogTargets } from '../quiet-log.js';
import { logCluster } from './cluster-log.js';

/** Options of `ClusterWorker.join`. */
export interface JoinOptions extends Partial<LogTargets> {
  readonly clock: Clock;
  /** Ends the joining. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * This process as one of the workers of its configuration: what is different of its hierarchy, and what
 * becomes of it when that is open. Without a section `cluster` it is alone, and nothing is different.
 *
 * Close it after the hierarchy.
 */
export class ClusterWorker implements AsyncDisposable {
  /** Undefined for a worker that is alone. */
  readonly cluster: Cluster | undefined;
  /** Options of the hierarchy in place of those of the configuration. */
  readonly changes: Partial<Pick<HierarchyOptions, 'source' | 'placement'>>;
  readonly #followed: Followed | undefined;
  readonly #policy: PlacementPolicy | undefined;
  readonly #clock: Clock;
  readonly #ending = new AbortController();
  #filling: Promise<unknown> = Promise.resolve();

  /**
   * Takes a rank among the workers that a configuration names.
   * @throws TieredError `TIERED_CONFIG_INVALID` for settings that cannot work, which are named, and for
   * workers that do not agree; `TIERED_UNAVAILABLE` if the registry cannot be reached. Abort rejects with
   * `signal.reason`.
   */
  static async join(
    { cluster: settings, hierarchy }: LoadedConfig,
    options: JoinOptions,
  ): Promise<ClusterWorker> {
    const { clock, signal, warn = warnProcess, note } = options;
    if (settings === undefined) return new ClusterWorker(undefined, hierarchy, {}, clock);
    try {
      const { joinCluster } = await import('./join-cluster.js');
      const { cluster, size } = await joinCluster(settings, hierarchy, { clock, signal });
      logCluster(cluster, settings.name, clock, { warn, note });
      const { plan } = settings;
      return new ClusterWorker(cluster, hierarchy, { plan, size }, clock);
    } catch (error) {
      throw inSection(error);
    }
  }

  private constructor(
    cluster: Cluster | undefined,
    made: HierarchyOptions,
    { plan, size }: Workers,
    clock: Clock,
  ) {
    this.cluster = cluster;
    this.changes = cluster === undefined ? {} : changesFor(cluster, made, size);
    this.#policy = policyOf(made);
    this.#followed = plan && size !== undefined ? { plan, ranks: size } : undefined;
    this.#clock = clock;
  }

  /**
   * Lets the others read from a hierarchy.
   * @param hierarchy Open, and made with `changes`.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an address that cannot be served on.
   */
  async serve(hierarchy: Hierarchy): Promise<void> {
    await this.cluster?.serve(hierarchy).catch((error: unknown) => {
      throw inSection(error);
    });
  }

  /**
   * If the configuration has a plan: waits for the others for a while, has all keep what it says from then
   * on, and begins to fill the tiers. For programs that know nothing of tiers; a loader makes its own plan.
   * @param hierarchy One that is served.
   */
  async followPlan(
    hierarchy: Hierarchy,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const [cluster, policy, followed] = [this.cluster, this.#policy, this.#followed];
    if (cluster === undefined || followed === undefined || policy === undefined || !isPlanFollower(policy))
      return;
    const { followOrder } = await import('./follow-order.js');
    const ending = AbortSignal.any([this.#ending.signal, ...(signal === undefined ? [] : [signal])]);
    const parts = { ...followed, cluster, policy, clock: this.#clock, signal: ending };
    const { filling } = await followOrder(hierarchy, parts);
    // What was not filled is read from the source. Failures are events of the hierarchy.
    this.#filling = filling.catch(() => undefined);
  }

  /** Leaves the others. Idempotent. */
  async close(): Promise<void> {
    this.#ending.abort(new TieredError('TIERED_CLOSED', 'The worker has left its cluster.'));
    await this.#filling;
    await this.cluster?.close();
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The order of all workers, if the configuration says it. */
interface Followed {
  readonly plan: ClusterPlanSettings;
  readonly ranks: number;
}

/** What the configuration says of all workers. */
interface Workers {
  readonly plan?: ClusterPlanSettings | undefined;
  /** Undefined if they come and go. */
  readonly size?: number | undefined;
}

/** A policy that follows plans places what the plan says, and others what this worker is the home of. */
function changesFor(
  cluster: Cluster,
  { source, placement, model }: HierarchyOptions,
  size: number | undefined,
): ClusterWorker['changes'] {
  const shared = cluster.source(source, { model: peerModelFor(cluster, model?.peers, size) });
  if (!(placement instanceof PlacementHandler) || isPlanFollower(placement.policy)) return { source: shared };
  return { source: shared, placement: placement.withPolicy(cluster.policy(placement.policy)) };
}

/** Goes by as many workers as there are at the moment. */
function peerModelFor(
  cluster: Cluster,
  peers: FetchModel['peers'],
  size: number | undefined,
): PeerModel | undefined {
  if (peers === undefined) return undefined;
  const now = () => peers(size ?? cluster.members.length + 1);
  return {
    peerMs: (bytes, underWay) => now().peerMs(bytes, underWay),
    sourceMs: (bytes, underWay) => now().sourceMs(bytes, underWay),
  };
}

/** Says in which section of the configuration something is wrong. */
function inSection(error: unknown): unknown {
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return new TieredError(
      'TIERED_CONFIG_INVALID',
      `cluster.port: ${port} of ${address} is in use; name another one`,
      { cause: error },
    );
  if (!isTieredError(error, 'TIERED_CONFIG_INVALID')) return error;
  const { message } = error;
  const [, same] = /^agreed\.(\w+)/.exec(message) ?? [];
  const told =
    same !== undefined
      ? `cluster: not all have the same ${same}${message.slice(`agreed.${same}`.length)}`
      : // Variables of the environment have names of their own.
        message.replace(/^(?=[a-z])/, 'cluster.');
  return new TieredError(error.code, told, { cause: error.cause });
}
