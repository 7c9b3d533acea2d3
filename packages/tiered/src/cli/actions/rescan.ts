import { rescanAt } from '@tiered/interpose';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from './interrupt.js';
import { sessionAt } from './session-at.js';

/** What `tiered rescan` is told. */
export interface RescanOptions {
  readonly at?: string;
}

/** Has a daemon list its source again. */
export async function rescan(host: CommandHost, { at }: RescanOptions): Promise<void> {
  await untilInterrupted(host.clock, (signal) => rescanAt(sessionAt(at), { signal }));
}
