import { loadConfig, type LoadedConfig } from '@tiered/config';
import { isTieredError, type Clock } from '@tiered/core';
import { readWritten, type Written } from './written.js';

/** What an environment is: variables by their names. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A configuration that was read: what can be made of it, or what is wrong with it. */
export type ReadConfiguration =
  | { readonly config: LoadedConfig; readonly written: Written }
  | {
      readonly wrong: string;
      /** Undefined if the file cannot be read. */
      readonly written: Written | undefined;
    };

/** Reads a configuration, and makes everything that it names. Opens nothing. */
export async function readConfiguration(
  file: string,
  { clock, env }: { readonly clock: Clock; readonly env: Environment },
): Promise<ReadConfiguration> {
  let written: Written | undefined;
  try {
    written = await readWritten(file, env);
    const config = await loadConfig(file, { clock, env });
    // Finds what only a hierarchy can: levels that share storage, say.
    await config.makeHierarchy().close();
    return { config, written };
  } catch (error) {
    if (!isTieredError(error, 'TIERED_CONFIG_INVALID')) throw error;
    return { wrong: error.message, written };
  }
}
