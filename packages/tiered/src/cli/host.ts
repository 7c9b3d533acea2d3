import { systemClock, type Clock } from '@tiered/core';
import fs from 'node:fs';
import tty from 'node:tty';
import type { Terminal } from '../progress.js';
import { inheritedDescriptors } from './inherited-descriptors.js';

/** Where a command writes, and its clock. */
export interface CommandHost {
  /** For results: standard output. */
  readonly write: (text: string) => void;
  /**
   * The same, for what is drawn again and again. A command that listens to its errors goes on without it;
   * else they end the process.
   */
  readonly output: Terminal;
  /** For messages and progress: standard error. If nobody hears them, the command works all the same. */
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Descriptors from 3 on that programs get which it starts. Default: none. */
  readonly descriptors?: readonly number[];
}

/** The process itself. A reader of its output may end before it does, as `head`: that is no failure. */
export function processHost(): CommandHost {
  // Before the streams, which open terminals anew.
  const descriptors = inheritedDescriptors();
  const { stdout: output, stderr: terminal } = process;
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (output.listenerCount('error') > 1) return;
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  terminal.on('error', () => undefined);
  leaveLostTerminals();
  return { write: (text) => void output.write(text), output, terminal, clock: systemClock, descriptors };
}

/** Says on standard error, line by line, what a command goes on after. */
export function warnOn({ terminal }: CommandHost): (line: string) => void {
  return (line) => void terminal.write(`warning: ${line}\n`);
}

/** Node restores the state of terminals at its end, and aborts if one is gone. It leaves out those closed. */
function leaveLostTerminals(): void {
  const terminals = [0, 1, 2].filter((descriptor) => tty.isatty(descriptor));
  process.on('exit', () => {
    for (const descriptor of terminals) if (!tty.isatty(descriptor)) fs.closeSync(descriptor);
  });
}
