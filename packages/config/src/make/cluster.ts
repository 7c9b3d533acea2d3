import type { ClusterSettings, RegistryConfig } from '../cluster-config.js';
import { tableIn } from './registry.js';

/**
 * Makes the settings of the section `cluster`.
 * @param inBase Makes a file path absolute.
 */
export function clusterOf(
  checked: ClusterSettings | undefined,
  inBase: (file: string) => string,
): ClusterSettings | undefined {
  if (checked?.registry === undefined) return checked;
  return { ...checked, registry: registryOf(checked.registry, inBase) };
}

function registryOf(registry: RegistryConfig, inBase: (file: string) => string): RegistryConfig {
  if (registry === 'torch' || (typeof registry !== 'string' && 'peers' in registry)) return registry;
  return tableIn(registry, inBase);
}
