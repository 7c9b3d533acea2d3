import { once } from 'node:events';
import path from 'node:path';
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
  const at = path.resolve(options.at);
  // Programs find it without being told.
  host.output.on('error', (error: Error) => {
    host.terminal.write(`Standard output cannot be written to: ${error.message}\n`);
  });
  await untilInterrupted(host.clock, async (signal) => {
    const interposer = await openInterposer(host, { ...options, at }, signal);
    try {
      host.write(`ready: tiered run --at ${at} -- PROGRAM\n`);
      if (!signal.aborted) await once(signal, 'abort');
      host.terminal.write(`${summaryOf(interposer.stats())}\n`);
    } finally {
      await interposer.close();
    }
  });
}
