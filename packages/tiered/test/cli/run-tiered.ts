import { systemClock, type Clock } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { PassThrough } from 'node:stream';
import { runTiered } from '../../src/cli/run.js';
import { textOf } from './text-of.js';

/** What a command did. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly messages: string;
  /** What it drew on the terminal, where it has one. */
  readonly drawn: string;
}

/** Runs `tiered` with these arguments, in this process. */
export function tiered(...args: string[]): Promise<Ran> {
  return ran(args, systemClock, (running) => running);
}

/** As `tiered`, on a clock that runs as fast as the work. */
export function simulated(...args: string[]): Promise<Ran> {
  const clock = new ManualClock();
  return ran(args, clock, (running) => clock.run(running));
}

/** As `simulated`, on a terminal of 80 characters. */
export function onTerminal(...args: string[]): Promise<Ran> {
  const clock = new ManualClock();
  return ran(args, clock, (running) => clock.run(running), true);
}

async function ran(
  args: readonly string[],
  clock: Clock,
  run: (running: Promise<number>) => Promise<number>,
  isTTY = false,
): Promise<Ran> {
  const written: string[] = [];
  const terminal = new PassThrough();
  const output = Object.assign(new PassThrough(), { isTTY, columns: 80 });
  const host = { write: (text: string) => void written.push(text), output, terminal, clock };
  const code = await run(runTiered(args, host));
  return { code, out: written.join(''), messages: textOf(terminal), drawn: textOf(output) };
}
