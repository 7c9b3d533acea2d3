import { spawn } from 'node:child_process';
import os from 'node:os';
import type { Terminal } from '../../progress.js';

/** A terminal sends these to all processes in front of it, so the program gets them anyway. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'];
/** Exit codes as shells give them. */
const NOT_FOUND = 127;
const NOT_STARTED = 126;
const SIGNALLED = 128;

/**
 * Runs a program to its end, with the input and output of this process, and with the signals that it gets.
 * Resolves to the exit code: 128 and the number of the signal that ended the program, 127 if there is no such
 * program, and 126 if it cannot be started.
 * @param terminal Told why it cannot be started.
 */
export async function runChild(
  [file = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  terminal: Terminal,
): Promise<number> {
  // Before the program begins: what nobody expects ends this process, or (SIGUSR1) starts its debugger.
  const stopPassing = passSignals((signal) => void child.kill(signal));
  const child = spawn(file, args, { env, stdio: 'inherit' });
  try {
    return await new Promise<number>((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        terminal.write(`${file} cannot be run: ${error.message}\n`);
        resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_STARTED);
      });
      child.once('exit', (code, signal) => {
        resolve(signal === null ? (code ?? 1) : SIGNALLED + os.constants.signals[signal]);
      });
    });
  } finally {
    stopPassing();
  }
}

/**
 * Passes the signals of this process on, which goes on itself.
 * @param passOn Called in a later turn of the event loop.
 * @returns How to stop that.
 */
function passSignals(passOn: (signal: NodeJS.Signals) => void): () => void {
  const ofTerminal = (signal: NodeJS.Signals) => {
    if (!process.stdin.isTTY) passOn(signal);
  };
  for (const signal of PASSED_ON) process.on(signal, passOn);
  for (const signal of OF_TERMINALS) process.on(signal, ofTerminal);
  return () => {
    for (const signal of PASSED_ON) process.off(signal, passOn);
    for (const signal of OF_TERMINALS) process.off(signal, ofTerminal);
  };
}
