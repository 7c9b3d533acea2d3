import { loadConfig, type LoadedConfig } from '@tiered/config';
import { expandVariables, readDocument, type Variable } from '@tiered/config/internal';
import { isTieredError, type Clock } from '@tiered/core';
import { knownFields, shownOf } from './shown.js';

/** What an environment is: variables by their names. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a mapping of a configuration is, before it is checked. */
export type Mapping = Readonly<Record<string, unknown>>;

/** A configuration as its file says it. */
export interface Written {
  /** As it is written. May hold secrets. */
  readonly value: unknown;
  /** With `${NAME}` replaced, where the variable is set. Holds secrets. */
  readonly expanded: unknown;
  /** As it is written, without anything that may be a secret. */
  readonly shown: unknown;
  /** What `shown` leaves out. */
  readonly hidden: readonly string[];
  readonly variables: readonly Variable[];
  readonly baseDirectory: string;
}

/**
 * Reads a configuration as it is written, without a check.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a file that cannot be read, or is neither YAML nor JSON.
 * Its message shows nothing of the content.
 */
export async function readWritten(file: string, env: Environment): Promise<Written> {
  const { value, baseDirectory } = await readDocument(file);
  const { value: expanded, variables } = expandVariables(value, env);
  return { value, expanded, ...shownOf(value, await knownFields()), variables, baseDirectory };
}

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
