import { systemClock, type Clock } from '@tiered/core';
import type { Terminal } from '../progress.js';

/** Where a command writes, and its clock. */
export interface CommandHost {
  /** For results: standard output. */
  readonly write: (text: string) => void;
  /** The same, for what is drawn again and again. */
  readonly output: Terminal;
  /** For messages and progress: standard error. */
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** The process itself. Whoever reads its output may end before it does, as `head`: that is no failure. */
export function processHost(): CommandHost {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  const { stdout: output, stderr: terminal } = process;
  return { write: (text) => void output.write(text), output, terminal, clock: systemClock };
}
