import { readFileSync } from 'node:fs';
import { GCProfiler } from 'node:v8';
import { systemClock } from '@tiered/core';

/** The cost of an object: microseconds of processor time of the whole process, and those that passed. */
export interface Cost {
  readonly user: number;
  readonly system: number;
  readonly wall: number;
  /** Of the processor time, that of the main thread, and of collecting garbage. */
  readonly main?: number | undefined;
  readonly gc?: number | undefined;
  /** Bytes that were allocated on the heap of V8. */
  readonly heapBytes?: number | undefined;
}

/** Processor time of another process, in microseconds. */
export interface OtherProcess {
  readonly user: number;
  readonly system: number;
}

/**
 * Measures work on so many objects, some of which another process may do. Collects no garbage before: that
 * throws compiled code away as well, and compiling it again would cost as much as some of the work.
 */
export async function costOf(objects: number, work: () => Promise<OtherProcess | undefined>): Promise<Cost> {
  const collector = new GCProfiler();
  collector.start();
  const heap = process.memoryUsage().heapUsed;
  const [main, cpu, start] = [mainThreadUs(), process.cpuUsage(), systemClock.now()];
  const other = (await work()) ?? { user: 0, system: 0 };
  const wall = (systemClock.now() - start) * 1000;
  const { user, system } = process.cpuUsage(cpu);
  const mainUs = mainThreadUs() - main;
  const { statistics } = collector.stop();
  let [allocated, used, gc] = [0, heap, 0];
  for (const { beforeGC, afterGC, cost } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - used;
    used = afterGC.heapStatistics.usedHeapSize;
    gc += cost;
  }
  allocated += process.memoryUsage().heapUsed - used;
  return {
    user: (user + other.user) / objects,
    system: (system + other.system) / objects,
    wall: wall / objects,
    main: mainUs / objects,
    gc: gc / objects,
    heapBytes: allocated / objects,
  };
}

/** Processor time of the main thread until now; not a number where the system does not tell it. */
function mainThreadUs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  } catch {
    return Number.NaN;
  }
}
