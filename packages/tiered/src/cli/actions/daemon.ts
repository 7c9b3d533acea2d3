import { once } from 'node:events';
import path from 'node:path';
import type { CommandHost } from '../host.js';
import { openServed, tellRoot, type InterposerOptions } from './interposer.js';
import { untilInterrupted } from './interrupt.js';
import { summaryJson, summaryOf } from './summary.js';

/** What `tiered daemon` is told. */
export interface DaemonOptions extends InterposerOptions {
  readonly at: string;
  readonly json?: boolean;
}

/** Serves a hierarchy to programs that others start, until a signal ends it. */
export async function serveDaemon(
  host: CommandHost,
  { json = false, ...options }: DaemonOptions,
): Promise<void> {
  const at = path.resolve(options.at);
  // Programs find it without being told.
  host.output.on('error', (error: Error) => {
    host.terminal.write(`Standard output cannot be written to: ${error.message}\n`);
  });
  await untilInterrupted(host.clock, async (signal) => {
    await using served = await openServed(host, { ...options, at }, signal);
    const { interposer } = served;
    tellRoot(host, options, interposer);
    const { root } = interposer.about;
    const ready = json ? JSON.stringify({ at, root }) : `ready: tiered run --at ${at} -- PROGRAM`;
    host.write(`${ready}\n`);
    if (!signal.aborted) await once(signal, 'abort');
    if (json) host.write(`${summaryJson(interposer.stats(), root)}\n`);
    else host.terminal.write(`${summaryOf(interposer.stats(), root)}\n`);
  });
}
