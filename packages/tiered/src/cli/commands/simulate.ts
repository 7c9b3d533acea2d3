import { Command } from 'commander';
import type { SimulateOptions } from '../actions/simulate.js';
import type { SimulateProfileOptions } from '../actions/simulate-profile.js';
import type { CommandHost } from '../host.js';
import { positive, wholeNumber } from '../numbers.js';

/** `tiered simulate`. */
export function simulateCommand(host: CommandHost): Command {
  const program = new Command('simulate')
    .summary('Says how long a training would take')
    .description(
      'Says how long a training would take, and where it would read from, under each of these policies',
    );
  const scenario = program
    .command('scenario')
    .argument('<name>', 'of the HDMLP paper, section 6.1: 1, 2, 3, 3-places, 4, 5')
    .description('Simulates one of the scenarios of the HDMLP paper')
    .action(async (name: string, options: SimulateOptions) => {
      const { simulateScenario } = await import('../actions/simulate.js');
      await simulateScenario(host, name, options);
    });
  const file = program
    .command('file')
    .argument('<path>', 'a JSON document, see docs/simulator.md')
    .description('Simulates a dataset, a system and policies of your own')
    .action(async (path: string, options: SimulateOptions) => {
      const { simulateFile } = await import('../actions/simulate.js');
      await simulateFile(host, path, options);
    });
  for (const command of [scenario, file]) addOptions(command);
  program
    .command('profile')
    .argument('<profile>', 'what "tiered calibrate -o" wrote')
    .requiredOption(
      '--config <file>',
      'the configuration that was measured: its source is listed, its quotas count',
    )
    .option(
      '--what-if <changes...>',
      'other quotas, such as ram=20GB,40GB disk=500GB, or source=500MB a second: all combinations; tiers are ram, disk, disk2',
    )
    .option('--epochs <n>', 'how many', wholeNumber, 10)
    .option('--readers <n>', 'reads of the loader at the same time', wholeNumber, 4)
    .option(
      '--compute-mbps <n>',
      'what the training takes in, in MB/s; default: as measured, else no limit',
      positive,
    )
    .option('--json', 'results as JSON, in place of sentences and the table')
    .option('--svg <file>', 'a chart')
    .description('Says what other quotas would bring, on storage that was measured')
    .action(async (profile: string, options: SimulateProfileOptions & { computeMbps?: number }) => {
      const { simulateProfile } = await import('../actions/simulate-profile.js');
      const { computeMbps, ...rest } = options;
      await simulateProfile(host, profile, {
        ...rest,
        ...(computeMbps !== undefined && { computeMBps: computeMbps }),
      });
    });
  return program;
}

function addOptions(command: Command): void {
  command
    .option(
      '--policies <names>',
      'separated by commas, such as nopfs,first-fit,lru,naive; a wrong name lists all',
      (text: string) => text.split(','),
    )
    .option(
      '--what-if <changes...>',
      'such as ram=10,20,40 ssd=20,40,80 (GB) source=500 (MB/s): all combinations; default: the policies of the file, else nopfs',
    )
    .option('--epochs <n>', 'how many', wholeNumber)
    .option('--seed <n>', 'decides sizes and orders', wholeNumber)
    .option('--json', 'results as JSON, in place of the table')
    .option('--csv', 'results as CSV, in place of the table')
    .option('--svg <file>', 'a chart as Fig. 7 of the paper');
}
