/** The paper's formulas for a whole sequence of reads (section 4), to compare the timeline with. */
import { write, type Megabytes, type Seconds, type SystemModel } from '@tiered/simulator/model';

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
