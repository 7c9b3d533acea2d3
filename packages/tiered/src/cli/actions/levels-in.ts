import { loadHierarchyOptions } from '@tiered/config';
import type { HierarchyOptions } from '@tiered/core';
import type { CommandHost } from '../host.js';

/**
 * Loads the levels of a configuration for a command, which says what becomes of tiers in lines of its own.
 * @param options Whether the profile that it names as its model is loaded. Default: no.
 */
export function levelsIn(
  { clock, terminal }: CommandHost,
  file: string,
  { model = false }: { readonly model?: boolean } = {},
): Promise<HierarchyOptions> {
  return loadHierarchyOptions(file, { clock, model, warn: (line) => terminal.write(`warning: ${line}\n`) });
}
