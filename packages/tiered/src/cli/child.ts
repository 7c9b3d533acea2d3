import { spawn, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { messageOf } from '../words.js';
import type { CommandHost } from './host.js';
import { stdioWith } from './inherited-descriptors.js';

/** A terminal sends these to all processes in front of it, so the program gets them anyway. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const PASSED_ON = [...OF_TERMINALS, 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'] as const;
/** Exit codes as shells give them. */
const NOT_FOUND = 127;
const NOT_STARTED = 126;
/** Those of a program that could not be started. */
export const CANNOT_BE_RUN: readonly number[] = [NOT_FOUND, NOT_STARTED];
const SIGNALLED = 128;

/**
 * Runs a program to its end, with the input, output and other descriptors that this process was started with,
 * and with the signals that it gets.
 * Resolves to the exit code: 128 and the number of the signal that ended the program, 127 if there is no such
 * program, and 126 if it cannot be started.
 * @param host Its terminal is told why it cannot be started, and which signals it cannot get.
 */
export async function runChild(
  [file = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  { terminal, descriptors = [] }: Pick<CommandHost, 'terminal' | 'descriptors'>,
): Promise<number> {
  let program: ChildProcess | undefined;
  const pass = (signal: NodeJS.Signals): void => {
    if (program !== undefined && !hasGot(program, signal)) program.kill(signal);
  };
  // Before the program begins: what nobody expects ends this process, or (SIGUSR1) starts its debugger.
  for (const signal of PASSED_ON) process.on(signal, pass);
  try {
    const child = spawn(file, args, { env, stdio: stdioWith(descriptors) });
    program = child;
    return await new Promise<number>((resolve, reject) => {
      child.on('error', (error: NodeJS.ErrnoException) => {
        // A program that runs as another user goes on.
        if (error.syscall === 'kill') terminal.write(`${file} gets no signals: ${error.message}\n`);
        else reject(error);
      });
      child.once('exit', (code, signal) => {
        resolve(signal === null ? (code ?? 1) : SIGNALLED + os.constants.signals[signal]);
      });
    });
  } catch (error) {
    // The system's errors come later, or are thrown at once (ENOTDIR, E2BIG).
    const isMissing = file === '' || (error as NodeJS.ErrnoException).code === 'ENOENT';
    const missing = file.includes('/') ? 'no such file' : 'command not found';
    terminal.write(`${file || '""'}: ${isMissing ? missing : `cannot be run: ${whyNot(error)}`}\n`);
    return isMissing ? NOT_FOUND : NOT_STARTED;
  } finally {
    for (const signal of PASSED_ON) process.off(signal, pass);
  }
}

/** In words of the system, without the name of the call that it refused. */
function whyNot(error: unknown): string {
  const { errno } = error as NodeJS.ErrnoException;
  return getSystemErrorMap().get(errno ?? 0)?.[1] ?? messageOf(error);
}

/**
 * Whether the program has got a signal of this process by itself: from a terminal in front of which both are.
 * A signal that something else sends to this process alone looks the same.
 */
function hasGot({ pid }: ChildProcess, signal: NodeJS.Signals): boolean {
  if (!OF_TERMINALS.includes(signal)) return false;
  const own = groupsOf(process.pid);
  return own !== undefined && own.group === own.inFront && own.group === groupsOf(pid)?.group;
}

/** The group of a process, and that in front of its terminal; undefined where the system does not say it. */
function groupsOf(pid: number | undefined): { readonly group: string; readonly inFront: string } | undefined {
  try {
    // The name, in parentheses, may be anything.
    const [, group, inFront] =
      /^.*\) \S+ \d+ (\d+) \d+ \d+ (-?\d+)/s.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return group === undefined || inFront === undefined ? undefined : { group, inFront };
  } catch {
    return undefined;
  }
}
