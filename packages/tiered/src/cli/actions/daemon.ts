import type { CommandHost } from '../host.js';
import { openInterposer, summaryOf, type ServingOptions } from './interposer.js';
import { interruption } from './interrupt.js';

/** What `tiered daemon` is told. */
export interface DaemonOptions extends ServingOptions {
  readonly config: string;
  readonly at: string;
}

/** Serves a hierarchy to programs that others start, until a signal ends it. */
export async function serveDaemon(host: CommandHost, options: DaemonOptions): Promise<void> {
  const interposer = await openInterposer(host, options);
  try {
    host.write(`ready: tiered run --at ${options.at} -- PROGRAM\n`);
    await interruption();
    host.terminal.write(`${summaryOf(interposer.stats())}\n`);
  } finally {
    await interposer.close();
  }
}
