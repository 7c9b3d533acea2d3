import os from 'node:os';

/** Added to the number of a signal, it is the exit code of who ends by it. */
export const SIGNALLED = 128;

/** A signal of the system ended the work. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;
  /** The exit code of a command that ends by it, as shells give it. */
  readonly status: number;

  /** @param told What was done by then, and what comes next, where there is something to say. */
  constructor(signal: NodeJS.Signals, told?: string) {
    super(`Ended by ${signal}.${told === undefined ? '' : ` ${told}`}`);
    this.name = 'Interrupted';
    this.signal = signal;
    this.status = SIGNALLED + os.constants.signals[signal];
  }
}
