import { isTieredError, type FetchModel } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import type { ModelContext, Placement } from '@tiered/core/placement';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Problems } from '../check/problems.js';
import { isMapping, reasonOf, type Path } from '../file/document.js';
import { loadModel, loadPlacement } from '../drivers/modules.js';

/**
 * Runs a factory, and returns its result. An error becomes a problem of the option that its message begins
 * with, or else of all options.
 */
export function runFactory<Made>(
  problems: Problems,
  where: Path,
  given: unknown,
  make: () => Made,
): Made | undefined {
  try {
    const made = make();
    if (typeof made === 'object' && made !== null) return made;
    throw new Error('the factory made nothing of these options');
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [field = ''] = message.split(': ', 1);
    if (!isTieredError(error, 'TIERED_CONFIG_INVALID') || !isMapping(given) || !Object.hasOwn(given, field))
      problems.add(where, message, error);
    else problems.add([...where, field], message.slice(field.length + 2), error, where);
    return undefined;
  }
}

/** Makes the placement. Undefined if there are problems, which are added to `problems`. */
export async function placementOf(
  problems: Problems,
  given: unknown,
  context: FactoryContext,
): Promise<Placement | undefined> {
  const where = ['placement'];
  const { factory, problem, cause } = await loadPlacement(context.baseDirectory);
  if (factory === undefined) {
    problems.add(where, problem, cause);
    return undefined;
  }
  const options = await problems.check(where, factory.schema, given);
  return options && runFactory(problems, where, given, () => factory.create(options.value, context));
}

/** The path of the model. */
const MODEL = ['model'];

/**
 * Makes the model from the file of a profile. Undefined if there are problems, which are added to `problems`.
 */
export async function modelOf(
  problems: Problems,
  file: string,
  context: ModelContext,
): Promise<FetchModel | undefined> {
  const profile = await profileIn(problems, path.resolve(context.baseDirectory, file));
  if (profile === undefined) return undefined;
  const { factory, problem, cause } = await loadModel(context.baseDirectory);
  if (factory !== undefined)
    return runFactory(problems, MODEL, file, () => factory.create(profile.value, context));
  problems.add(MODEL, problem, cause);
  return undefined;
}

async function profileIn(problems: Problems, file: string): Promise<{ readonly value: unknown } | undefined> {
  try {
    return { value: JSON.parse(await readFile(file, 'utf8')) };
  } catch (error) {
    // The parser's own message shows a part of the file.
    const reason = error instanceof SyntaxError ? 'this is not JSON' : reasonOf(error);
    problems.add(MODEL, `${reason}; expected a profile that "tiered calibrate -o" wrote`, error);
    return undefined;
  }
}
