import { Command } from 'commander';
import { asMissing } from '../failure.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { addSessionOption } from '../options.js';

/** `tiered rescan`. */
export function rescanCommand(host: CommandHost): Command {
  return addSessionOption(new Command('rescan'))
    .summary('Has a daemon list its source again')
    .description(
      'Has a "tiered daemon" list its source again, so that programs read copies also of what came or changed. Ends when that is done.',
    )
    .action((options: { readonly at?: string }) => rescan(host, options));
}

async function rescan(host: CommandHost, { at }: { readonly at?: string }): Promise<void> {
  const { rescanAt } = await import('@tiered/interpose').catch(asMissing);
  const { sessionAt } = await import('../shared/daemon-at.js');
  await untilInterrupted(host.clock, (signal) => rescanAt(sessionAt(at), { signal }));
}
