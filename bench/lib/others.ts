import os from 'node:os';

/**
 * Begins to watch the machine. The function it returns tells which share of its cores did something else than
 * this process since then, from 0 to 1: above a few hundredths, figures are those of a busy machine. 0 where
 * the system does not say.
 */
export function othersShare(): () => number {
  const own = process.cpuUsage();
  const before = coreTimes();
  return () => {
    const after = coreTimes();
    const { user, system } = process.cpuUsage(own);
    const others = after.busyMs - before.busyMs - (user + system) / 1000;
    return Math.max(0, others / (after.allMs - before.allMs)) || 0;
  };
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
