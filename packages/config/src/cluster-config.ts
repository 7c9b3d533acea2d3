import type { TableConfig, Written } from './registry-config.js';

/**
 * The place where the workers of a cluster find each other; see `cluster.registry` in
 * `docs/configuration.md`.
 */
export type RegistryConfig = TableConfig | 'torch' | { readonly peers: readonly string[] };

/** The order in which all workers read the objects. */
export interface ClusterPlanSettings {
  readonly sampler: 'torch' | 'rank';
  readonly seed: number;
  readonly epochs: number;
  readonly batchSize?: number | undefined;
  readonly dropLast?: boolean | undefined;
}

/** The parsed settings of workers that share their tiers: numbers are numbers, and paths are absolute. */
export interface ClusterSettings {
  readonly name: string;
  readonly registry?: RegistryConfig | undefined;
  readonly rank?: number | undefined;
  readonly size?: number | undefined;
  /** A secret, which may not be shown. */
  readonly token?: string | undefined;
  readonly share?: boolean | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly advertise?: string | undefined;
  readonly deadlineMs?: number | undefined;
  readonly plan?: ClusterPlanSettings | undefined;
}

/** The section `cluster` of a file. */
export type ClusterConfig = Written<Omit<ClusterSettings, 'plan'>> & {
  readonly plan?: Written<ClusterPlanSettings> | undefined;
};
