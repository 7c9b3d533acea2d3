import type { Candidate } from '@tiered/control';
import { parseBytes, TieredError } from '@tiered/core';
import type { Command } from 'commander';
import { positive } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { addControlRegistryOptions, type ControlRegistryOptions } from '../options.js';

/** Adds `tiered control admit`. */
export function addAdmitCommand(control: Command, host: CommandHost): void {
  addControlRegistryOptions(control.command('admit'))
    .requiredOption('--bytes-per-second <size>', 'what the job would read, such as 80MB')
    .option('--weight <n>', 'its weight', positive, 1)
    .option('--source <name>', 'the source that it would read; default: the only one that jobs read')
    .option('--job <name>', 'its name; that of a job that is there makes it another stage of it', 'candidate')
    .option('--json', 'the same as JSON; null is no bound')
    .description(
      'Says whether one more job would fit, and what each job would have then; starts nothing. Fails if it would not fit.',
    )
    .action((options: AdmitOptions) => admit(host, options));
}

interface AdmitOptions extends ControlRegistryOptions {
  readonly bytesPerSecond: string;
  readonly weight: number;
  readonly source?: string;
  readonly job: string;
  readonly json?: boolean;
}

/**
 * Says what would become of all jobs if another one came.
 * @throws TieredError `TIERED_LIMIT_REACHED` if one of them would starve, after it was said.
 */
async function admit(host: CommandHost, options: AdmitOptions): Promise<void> {
  const { look } = await import('@tiered/control');
  const { withControlRegistry } = await import('../shared/control-registry.js');
  const { candidateIn, verdictOf } = await import('../../control-room/admit.js');
  const { job, weight, source, json = false } = options;
  const bytes = parseBytes(options.bytesPerSecond, '--bytes-per-second');
  await withControlRegistry(host, options, async (registry) => {
    const seen = await look(registry);
    const wanted: Candidate['wanted'] = { bytes, operations: Infinity };
    const candidate = candidateIn(seen, { job, terms: { weight }, source, wanted });
    const { admission, lines } = verdictOf(seen, candidate);
    host.write(
      `${json ? JSON.stringify({ source: candidate.source, ...admission }, undefined, 2) : lines.join('\n')}\n`,
    );
    if (!admission.fits) throw new TieredError('TIERED_LIMIT_REACHED', 'One more such job does not fit.');
  });
}
