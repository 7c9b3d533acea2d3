import type { TableConfig } from '../registry-config.js';

/**
 * Makes the paths of a registry absolute.
 * @param inBase Makes a file path absolute.
 */
export function tableIn(registry: TableConfig, inBase: (file: string) => string): TableConfig {
  if (registry === 'sqlite') return registry;
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
