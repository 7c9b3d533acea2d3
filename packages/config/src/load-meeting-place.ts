import { own } from '@tiered/core/internal';
import path from 'node:path';
import { control } from './check/control-schema.js';
import { Problems } from './check/problems.js';
import type { ControlSettings } from './control-config.js';
import { isMapping, partOf, readDocument } from './file/document.js';
import { expandVariables } from './file/environment.js';
import { tableIn } from './make/registry.js';

/** The registry where jobs meet. */
export type MeetingPlace = Pick<ControlSettings, 'name' | 'registry'>;

const place = control.pick({ name: true, registry: true });

/**
 * Loads the place where the job of a configuration meets others, for observers that are no job. The rest of
 * the configuration is not checked, and its variables need not be set.
 * @param env The environment for `${NAME}`.
 * @returns Undefined for a configuration without a section `control`.
 * @throws TieredError `TIERED_CONFIG_INVALID` like `loadConfig`, for this part of the configuration.
 */
export async function loadMeetingPlace(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<MeetingPlace | undefined> {
  const document = await readDocument(file);
  const section = isMapping(document.value) ? own(document.value, 'control') : undefined;
  if (section === undefined) return undefined;
  const part = isMapping(section) ? partOf(section, (key) => Object.hasOwn(place.shape, key)) : section;
  const { value, variables, problems: unset } = expandVariables({ control: part }, env);
  const problems = new Problems(document, variables);
  for (const problem of unset) problems.add(problem.path, problem.message);
  const checked = await problems.check(['control'], place, isMapping(value) ? value['control'] : undefined);
  problems.throwIfAny();
  const { name, registry } = checked?.value ?? {};
  const inBase = (inFile: string) => path.resolve(document.baseDirectory, inFile);
  return { name, registry: registry && tableIn(registry, inBase) };
}
