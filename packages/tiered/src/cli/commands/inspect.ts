import { Command } from 'commander';
import type { InspectKeyOptions, InspectPlanOptions } from '../actions/inspect.js';
import type { CommandHost } from '../host.js';
import { wholeNumber } from '../numbers.js';
import { addPlanOptions, addTrainingOptions } from '../training.js';

/** `tiered inspect`. */
export function inspectCommand(host: CommandHost): Command {
  const inspect = new Command('inspect')
    .summary('Looks at an object, a plan or a manifest')
    .description('Looks at an object, a plan or a manifest; changes nothing');
  addTrainingOptions(
    inspect
      .command('key')
      .argument('<config>', 'the configuration')
      .argument('<key>', 'the object')
      .description(
        'Says where an object is, in which version and chunks, and, by the seed, when it is read next',
      ),
  )
    .option('--from <epoch>', 'accesses of this epoch and later ones', wholeNumber, 0)
    .option('--json', 'the result as JSON')
    .action(async (file: string, key: string, options: InspectKeyOptions) => {
      const { inspectKey } = await import('../actions/inspect.js');
      await inspectKey(host, file, key, options);
    });
  addPlanOptions(
    inspect
      .command('plan')
      .argument('<config>', 'the configuration')
      .description(
        'Says what a worker of a training should keep on which tier, by how often it reads each object',
      ),
  )
    .option('--keys', 'the keys in the order in which they are first read, tier by tier')
    .option('--json', 'the sums as JSON')
    .action(async (file: string, options: InspectPlanOptions) => {
      const { inspectPlan } = await import('../actions/inspect.js');
      await inspectPlan(host, file, options);
    });
  inspect
    .command('manifest')
    .argument('<config>', 'the configuration, which names the manifest')
    .option('--json', 'the result as JSON')
    .description('Says what the manifest holds, whether it is whole, and how old it is')
    .action(async (file: string, { json = false }: { json?: boolean }) => {
      const { inspectManifest } = await import('../actions/inspect.js');
      await inspectManifest(host, file, json);
    });
  return inspect;
}
