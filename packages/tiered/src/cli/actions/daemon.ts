import { once } from 'node:events';
import type { CommandHost } from '../host.js';
import { openInterposer, summaryOf, type ServingOptions } from './interposer.js';
import { untilInterrupted } from './interrupt.js';

/** What `tiered daemon` is told. */
export interface DaemonOptions extends ServingOptions {
  readonly config: string;
  readonly at: string;
}

/** Serves a hierarchy to programs that others start, until a signal ends it. */
export async function serveDaemon(host: CommandHost, options: DaemonOptions): Promise<void> {
  await untilInterrupted(host.clock, async (signal) => {
    const interposer = await openInterposer(host, options, signal);
    try {
      host.write(`ready: tiered run --at ${options.at} -- PROGRAM\n`);
      if (!signal.aborted) await once(signal, 'abort');
      host.terminal.write(`${summaryOf(interposer.stats())}\n`);
    } finally {
      await interposer.close();
    }
  });
}
