import { Command } from 'commander';
import type { WarmupOptions } from '../actions/warmup.js';
import type { CommandHost } from '../host.js';
import { addPlanOptions } from '../training.js';

/** `tiered warmup`. */
export function warmupCommand(host: CommandHost): Command {
  const command = new Command('warmup')
    .summary('Fills the tiers ahead of a training')
    .argument('<config>', 'the configuration')
    .option('--prefix <prefix>', 'only the objects whose keys begin so')
    .option('--pattern <glob>', 'only the objects whose keys match, such as "train/**/*.jpg"')
    .option('--keys <file>', 'only these objects, one key a line, in this order; - is standard input')
    .option('--budget <size>', 'fetches at most this much from the source, such as 50GiB; default: no limit')
    .option('--check', 'fetches nothing; says what is missing, and fails if anything is')
    .option('--json', 'the result as JSON');
  return addPlanOptions(command)
    .description(
      'Fills the tiers ahead of a training, as far as they have room: in the order of the keys, or, with --seed, in the order ' +
        'in which the training first reads what it should keep. Memory tiers are left to the training.',
    )
    .action(async (file: string, options: WarmupOptions) => {
      const { warmup } = await import('../actions/warmup.js');
      await warmup(host, file, options);
    });
}
