import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { hasErrno } from './errors.js';

/** The machine, and the container on it: containers may share a name and not their processes' numbers. */
const HOST = `${os.hostname()}-${pidNamespace()}`.replaceAll(/[./]/g, '-');
/** When this process was started, so that another one with its number is not taken for it. */
const STARTED = startOf(process.pid);
/** Worker threads share number and start of their process, and each has this module of its own. */
const INSTANCE = randomUUID();
let named = 0;

/** A name that no other process, thread or host gives, and that tells which process gave it. */
export function uniqueName(): string {
  named += 1;
  return `${HOST}.${process.pid}.${STARTED}.${named}.${INSTANCE}`;
}

/**
 * What became of whoever gave a name: `here` is this very module (the same thread of the same process), `running`
 * and `dead` are other processes of this host, and of another host's processes nothing is known.
 */
export function namerOf(name: string): 'here' | 'running' | 'dead' | 'elsewhere' {
  const [host, pid, started, , instance] = name.split('.');
  if (host !== HOST) return 'elsewhere';
  try {
    process.kill(Number(pid), 0);
    if (Number(started) !== startOf(Number(pid))) return 'dead';
    return instance === INSTANCE ? 'here' : 'running';
  } catch (error) {
    return hasErrno(error, 'ESRCH') ? 'dead' : 'running';
  }
}

/**
 * When a process was started, in ticks since the machine was, if the kernel says (Linux); else 0. NaN for one that
 * has ended and whose parent does not ask for it: it still has a number, and runs no more.
 */
function startOf(pid: number): number {
  try {
    // The second field, the name in parentheses, may hold anything; the start is the twentieth after it.
    const [, text = ''] = /\) ([^)]*)$/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const fields = text.split(' ');
    return fields[0] === 'Z' ? NaN : Number(fields[19] ?? 0);
  } catch {
    return 0;
  }
}

/** What the kernel calls the set of processes that know each other by number, if it says (Linux); else nothing. */
function pidNamespace(): string {
  try {
    return fs.readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    return '';
  }
}
