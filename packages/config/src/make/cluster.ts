import type { ClusterSettings, RegistryConfig } from '../cluster-config.js';

/**
 * The section `cluster` as it is used.
 * @param inBase Makes the path of a file absolute.
 */
export function clusterOf(
  checked: ClusterSettings | undefined,
  inBase: (file: string) => string,
): ClusterSettings | undefined {
  if (checked?.registry === undefined) return checked;
  return { ...checked, registry: registryOf(checked.registry, inBase) };
}

function registryOf(registry: RegistryConfig, inBase: (file: string) => string): RegistryConfig {
  if (typeof registry === 'string' || 'peers' in registry) return registry;
  if ('sqlite' in registry) return { sqlite: inBase(registry.sqlite) };
  const absolute = (file: string | undefined) => (file === undefined ? undefined : inBase(file));
  const { credsFile, caFile, certFile, keyFile, ...others } = registry.nats;
  return {
    nats: {
      ...others,
      credsFile: absolute(credsFile),
      caFile: absolute(caFile),
      certFile: absolute(certFile),
      keyFile: absolute(keyFile),
    },
  };
}
