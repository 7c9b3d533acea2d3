import type { ControlSettings, LoadedConfig } from '@tiered/config';
import { Control } from '@tiered/control';
import type { Clock, OperationOptions, StorageDriver } from '@tiered/core';
import { meetingPlace, STAGE_TTL_MS } from './meeting-place.js';
import { sourceNameOf } from './source-name.js';

/** A stage, and the source behind its share. */
export interface Joined {
  readonly control: Control;
  readonly source: StorageDriver;
}

/**
 * Joins the stages of all jobs.
 * @throws As `Control.join`, and as `meetingPlace`.
 */
export async function joinControl(
  settings: ControlSettings,
  { storage, hierarchy }: Pick<LoadedConfig, 'storage' | 'hierarchy'>,
  { clock, signal }: OperationOptions & { readonly clock: Clock },
): Promise<Joined> {
  const { name, registry: table, source = {}, ...job } = settings;
  const registry = meetingPlace({ name, registry: table }, clock);
  const sourceName = source.name ?? (await sourceNameOf(storage));
  const control = await Control.join({ ...job, registry, ttlMs: STAGE_TTL_MS, clock, signal });
  try {
    const { budget } = source;
    return { control, source: control.source(hierarchy.source, { name: sourceName, budget }) };
  } catch (error) {
    await control.close();
    throw error;
  }
}
