import type { Registry } from '@tiered/cluster/registry';
import type { ControlSettings } from '@tiered/config';
import type { Clock } from '@tiered/core';
import { tableOf } from '../cluster/table-of.js';

/** Milliseconds after which others have the share of a stage that was killed. */
export const STAGE_TTL_MS = 3000;

/**
 * Makes the registry where stages of all jobs meet, as a configuration names it. Those who only look need the
 * same settings, because a bucket of NATS has one time for all records. Nothing is opened.
 * @param make Whether a bucket of NATS is made that is not there.
 * @throws As `tableOf`.
 */
export function meetingPlace(
  { name = 'control', registry = 'sqlite' }: Pick<ControlSettings, 'name' | 'registry'>,
  clock: Clock,
  make = true,
): Registry {
  return tableOf(registry, { name, ttlMs: STAGE_TTL_MS, make, clock });
}
