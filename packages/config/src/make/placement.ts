import type { FactoryContext } from '@tiered/core/driver';
import type { Placement } from '@tiered/core/placement';
import type { Problems } from '../check/problems.js';
import { loadPlacement } from '../drivers/modules.js';
import { runFactory } from './run-factory.js';

/** Makes the placement. Undefined if anything is wrong, which is then added to the problems. */
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
