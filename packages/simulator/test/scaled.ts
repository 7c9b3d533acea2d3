import { scaledDown, simulate, type Simulation, type SimulationResult } from '@tiered/simulator';
import { SCENARIOS, type Assumptions } from '@tiered/simulator/model';
import type { Strategy } from '@tiered/simulator/strategies';

/** A scenario of the paper, so many times smaller. */
export function scaled(name: string, factor = 1, changes: Partial<Simulation> = {}): Simulation {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return { ...scaledDown(found.simulation, factor), ...changes };
}

/** The result of one strategy. */
export async function resultOf(
  simulation: Simulation,
  strategy: Strategy,
  assumptions: Partial<Assumptions> = {},
): Promise<SimulationResult> {
  const [result] = await simulate({ ...simulation, assumptions }, [strategy]);
  if (result === undefined) throw new Error('no result');
  return result;
}
