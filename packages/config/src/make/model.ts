import type { FetchModel } from '@tiered/core';
import type { ModelContext } from '@tiered/core/placement';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Problems } from '../check/problems.js';
import { loadModel } from '../drivers/modules.js';
import { reasonOf } from '../file/document.js';
import { runFactory } from './run-factory.js';

const WHERE = ['model'];

/**
 * Makes the model from the file of a profile. Undefined if anything is wrong, which is then added to the
 * problems.
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
    return runFactory(problems, WHERE, file, () => factory.create(profile.value, context));
  problems.add(WHERE, problem, cause);
  return undefined;
}

async function profileIn(problems: Problems, file: string): Promise<{ readonly value: unknown } | undefined> {
  try {
    return { value: JSON.parse(await readFile(file, 'utf8')) };
  } catch (error) {
    // The parser's own message shows a part of the file.
    const reason = error instanceof SyntaxError ? 'this is not JSON' : reasonOf(error);
    problems.add(WHERE, `${reason}; expected a profile that "tiered calibrate -o" wrote`, error);
    return undefined;
  }
}
