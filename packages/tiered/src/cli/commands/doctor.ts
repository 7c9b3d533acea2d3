import { Command } from 'commander';
import type { DoctorOptions } from '../actions/doctor.js';
import type { CommandHost } from '../host.js';
import { positive } from '../numbers.js';

/** `tiered doctor`. */
export function doctorCommand(host: CommandHost): Command {
  return new Command('doctor')
    .description(
      'Looks for what is wrong: with the configuration, source, tiers, credentials, clock, disks, memory and limits. ' +
        'Changes nothing. Ends with 1 if there is a problem.',
    )
    .argument('<config>', 'the configuration')
    .option('--timeout <seconds>', 'that each storage has to answer', positive, 10)
    .option(
      '--bundle <file>',
      'a new file for a report without secrets, to send to others (.json or .json.gz)',
    )
    .option('--json', 'the findings as JSON')
    .action(async (config: string, options: DoctorOptions) => {
      const { doctor } = await import('../actions/doctor.js');
      await doctor(host, config, options);
    });
}
