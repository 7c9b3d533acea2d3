import { expandVariables, readDocument, type Variable } from '@tiered/config/internal';
import { knownFields, shownOf } from './shown.js';

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
export async function readWritten(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Written> {
  const { value, baseDirectory } = await readDocument(file);
  const { value: expanded, variables } = expandVariables(value, env);
  return { value, expanded, ...shownOf(value, await knownFields()), variables, baseDirectory };
}
