import type { HierarchyOptions } from '../hierarchy/options.js';
import type { FromConfigOptions, HierarchyConfig } from './contract.js';

/**
 * What `Hierarchy.fromConfig` would make a hierarchy of. Parsers are loaded only then.
 * @throws As `Hierarchy.fromConfig`.
 */
export async function loadHierarchyOptions(
  config: string | URL | HierarchyConfig,
  options: FromConfigOptions = {},
): Promise<HierarchyOptions> {
  const { fromConfig } = await import('./from-config.js');
  return fromConfig(config, options, (made) => made);
}
