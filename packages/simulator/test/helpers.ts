import { scaledDown, simulate, type Simulation, type SimulationResult } from '@tiered/simulator';
import {
  SCENARIOS,
  write,
  type Assumptions,
  type Megabytes,
  type Seconds,
  type SystemModel,
} from '@tiered/simulator/model';
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

/** read_i = fetch_i + write_i (section 4). */
export function read(system: SystemModel, sizeMB: Megabytes, fetchSeconds: Seconds): Seconds {
  return fetchSeconds + write(system, sizeMB);
}

/** avail_i(f): when the last of these reads has ended, spread over p_0 threads of equal load (section 4). */
export function avail(system: SystemModel, reads: readonly Seconds[]): Seconds {
  return reads.reduce((sum, seconds) => sum + seconds, 0) / system.staging.threads;
}

/** t_{i,f}: when a worker consumes a sample, after training on the one before it (section 4). */
export function consumed(
  system: SystemModel,
  availableAt: Seconds,
  before: { readonly consumedAt: Seconds; readonly sizeMB: Megabytes },
): Seconds {
  return Math.max(availableAt, before.consumedAt + before.sizeMB / system.computeMBps);
}
