import os from 'node:os';
import { timesOf } from './process-tree.js';

/**
 * Begins to watch the machine. The function it returns tells which share of its cores did something else than
 * this process and those that it started since then, from 0 to 1: above a few hundredths, figures are those
 * of a busy machine. Processes that it started count as its own once they have ended, and on Linux only. 0
 * where the system does not say.
 */
export function othersShare(): () => number {
  const own = process.cpuUsage();
  const children = childrenMs();
  const before = coreTimes();
  return () => {
    const after = coreTimes();
    const { user, system } = process.cpuUsage(own);
    const ownMs = (user + system) / 1000 + childrenMs() - children;
    const others = after.busyMs - before.busyMs - ownMs;
    return Math.max(0, others / (after.allMs - before.allMs)) || 0;
  };
}

/** Time of processors that processes took which this one started and which have ended; 0 but on Linux. */
export function childrenMs(): number {
  return process.platform === 'linux' ? timesOf('self').endedMs : 0;
}

function coreTimes(): { readonly busyMs: number; readonly allMs: number } {
  let busyMs = 0;
  let allMs = 0;
  for (const { times } of os.cpus()) {
    const all = times.user + times.nice + times.sys + times.irq + times.idle;
    allMs += all;
    busyMs += all - times.idle;
  }
  return { busyMs, allMs };
}
