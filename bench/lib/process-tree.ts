import { readdirSync, readFileSync } from 'node:fs';

/** The unit of times in /proc. */
const TICK_MS = 10;

/** What a process has taken, by /proc. */
export interface ProcessTimes {
  readonly ownMs: number;
  /** Of those that it started and that have ended. */
  readonly endedMs: number;
}

/** Processor time of a process. `pid` may be `self`. */
export function timesOf(pid: number | 'self'): ProcessTimes {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may have spaces. The third field is the first one behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (from: number) =>
    fields.slice(from, from + 2).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
  return { ownMs: ms(11), endedMs: ms(13) };
}

/** A process and all that it started, those too that these started. On Linux only. */
export function treeOf(pid: number): number[] {
  const threads = ifThere(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const children = threads.flatMap(
    (thread) => ifThere(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')) ?? '',
  );
  const pids = children.join('').trim().split(' ').filter(Boolean).map(Number);
  return [pid, ...pids.flatMap(treeOf)];
}

/** Processor time of a process and all that it started, in milliseconds. */
export function treeMs(pid: number): number {
  const all = treeOf(pid).map((one) => ifThere(() => timesOf(one)));
  return all.reduce((sum, times) => sum + (times?.ownMs ?? 0) + (times?.endedMs ?? 0), 0);
}

/** Bytes of memory that a process and all that it started have: what they share counts for each. */
export function treeRss(pid: number): number {
  const all = treeOf(pid).map((one) => ifThere(() => readFileSync(`/proc/${one}/status`, 'utf8')) ?? '');
  return all.reduce((sum, status) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024, 0);
}

/** Undefined: the process has ended meanwhile. */
function ifThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
