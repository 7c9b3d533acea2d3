import { systemClock, type Clock } from '@tiered/core';
import type { Terminal } from '../progress.js';

/** Where a command writes, and its clock. */
export interface CommandHost {
  /** For results: standard output. */
  readonly write: (text: string) => void;
  /** For messages and progress: standard error. */
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** The process itself. */
export const processHost: CommandHost = {
  write: (text) => void process.stdout.write(text),
  terminal: process.stderr,
  clock: systemClock,
};
