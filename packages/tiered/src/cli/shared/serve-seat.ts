import { parseBytes, TieredError, type HierarchyOptions } from '@tiered/core';
import { assertReachedOutside } from '@tiered/core/internal';
import type { GatewayMetrics } from '@tiered/gateway';
import path from 'node:path';
import type { ServedFacts, ServedTotals } from './served-text.js';

/** The place of one of several processes that serve together. */
export interface ServeSeat {
  readonly processes: number;
  readonly port: number;
  /** A directory for the lists of objects of sources whose configuration keeps none. */
  readonly manifests: string;
}

/** What such a process tells the one that started it. */
export type FromSeat =
  | { readonly kind: 'ready'; readonly facts: ServedFacts }
  | { readonly kind: 'metrics'; readonly metrics: GatewayMetrics }
  | { readonly kind: 'totals'; readonly totals: ServedTotals };

/** What it is asked and told. */
export type ToSeat = { readonly kind: 'metrics' } | { readonly kind: 'end' };

/** Holds a seat as JSON. */
const VARIABLE = 'TIERED_SERVE_SEAT';

/** The environment of a process that takes a seat. */
export function environmentOf(seat: ServeSeat): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(seat) };
}

/** The seat of this process, if another one gave it one. */
export function seatIn(env: NodeJS.ProcessEnv): ServeSeat | undefined {
  const text = env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as ServeSeat);
}

/**
 * What is different in one of several processes: its part of the tiers in memory, and a list of objects that
 * the first process makes for all.
 * @param name Of the list, within the seat's directory.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a tier that one process alone can use.
 */
export async function optionsInSeat(
  { processes, manifests }: ServeSeat,
  { source, tiers = [], scan, manifest }: HierarchyOptions,
  name: string,
): Promise<Partial<HierarchyOptions>> {
  const ofOne = tiers.find(({ driver }) => driver.location !== undefined && !driver.capabilities.index);
  if (ofOne !== undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `--processes: the tier ${ofOne.driver.name} can be used by one process alone; leave it out, or serve with one process`,
    );
  const divided = tiers.map((tier) =>
    tier.driver.location === undefined
      ? { ...tier, quota: Math.floor(parseBytes(tier.quota) / processes) }
      : tier,
  );
  if (manifest !== undefined || scan === false) return { tiers: divided };
  // Not inside a source such as the root directory: then each process lists it.
  const isOutside = await assertReachedOutside('manifest', source, manifests).then(
    () => true,
    () => false,
  );
  return isOutside ? { tiers: divided, manifest: path.join(manifests, name) } : { tiers: divided };
}
