import type { ControlSettings, LoadedConfig } from '@tiered/config';
import { Control } from '@tiered/control';
import type { Clock, OperationOptions, StorageDriver } from '@tiered/core';
import { tableOf } from '../cluster/table-of.js';
import { sourceNameOf } from './source-name.js';

/** A stage, and the source behind its share. */
export interface Joined {
  readonly control: Control;
  readonly source: StorageDriver;
}

/** Milliseconds after which others have the share of a stage that was killed. */
const TTL_MS = 3000;

/**
 * Joins the stages of all jobs.
 * @throws As `Control.join`, and as `tableOf`.
 */
export async function joinControl(
  settings: ControlSettings,
  { storage, hierarchy }: Pick<LoadedConfig, 'storage' | 'hierarchy'>,
  { clock, signal }: OperationOptions & { readonly clock: Clock },
): Promise<Joined> {
  const { name = 'control', registry: table = 'sqlite', source = {}, ...job } = settings;
  const registry = tableOf(table, { name, ttlMs: TTL_MS, clock });
  const sourceName = source.name ?? (await sourceNameOf(storage));
  const control = await Control.join({ ...job, registry, ttlMs: TTL_MS, clock, signal });
  try {
    const { budget } = source;
    return { control, source: control.source(hierarchy.source, { name: sourceName, budget }) };
  } catch (error) {
    await control.close();
    throw error;
  }
}
