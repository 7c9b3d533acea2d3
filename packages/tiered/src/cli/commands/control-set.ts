import type { Registry } from '@tiered/cluster/registry';
import type { Command } from 'commander';
import type { Setting } from '../../control-room/setting.js';
import type { CommandHost } from '../host.js';
import { addControlRegistryOptions, type ControlRegistryOptions } from '../options.js';

/** Adds `tiered control set`. */
export function addSetCommand(control: Command, host: CommandHost): void {
  addControlRegistryOptions(control.command('set'))
    .option('--source <name>', 'name of the source, as in "tiered control show"')
    .option(
      '--bytes-per-second <size>',
      'with --source: bytes per second for all jobs together, such as 150MB',
    )
    .option('--operations-per-second <n>', 'with --source: requests per second for all jobs together')
    .option('--job <name>', 'name of the job; overrides what the job says of itself')
    .option(
      '--weight <n>',
      'with --job: of two jobs that want more, one with twice the weight gets twice as much',
    )
    .option(
      '--priority <n>',
      'with --job: jobs of a higher priority get all that they want first; -100 to 100',
    )
    .option(
      '--at-least <size>',
      'with --job: bytes per second of each source that it always gets, such as 20MB',
    )
    .option('--at-most <size>', 'with --job: maximum bytes per second of each source, such as 50MB')
    .option('--node <name>', 'name of the machine, or "*" for all machines without settings of their own')
    .option(
      '--memory <size>',
      'with --node: memory for the prefetchers of all its jobs together, such as 8GiB',
    )
    .option('--producers <n>', 'with --node: concurrent requests of all its jobs together')
    .option('--clear', 'removes the settings of the source, the job or the node, and prints what they were')
    .option('--all', 'with --clear, instead of a name: all settings')
    .description(
      'Sets the budget of a source, the terms of a job or the limits of a node, for all jobs at once. All ' +
        'other settings stay as they were.',
    )
    .addHelpText(
      'after',
      `
Examples:
  tiered control set --source server:/export --bytes-per-second 150MB
  tiered control set --job imagenet --weight 2 --at-least 20MB
  tiered control set --job imagenet --clear
  tiered control set --clear --all`,
    )
    .action((options: SetOptions) => set(host, options));
}

type SetOptions = ControlRegistryOptions & Setting;

/** Sets something for all jobs, and says what holds now. */
async function set(host: CommandHost, options: SetOptions): Promise<void> {
  const { withControlRegistry } = await import('../shared/control-registry.js');
  const { setInRegistry } = await import('../../control-room/set.js');
  const { changeOf } = await import('../../control-room/setting.js');
  const { policyLines, removedLine } = await import('../../control-room/text.js');
  // No registry is made for a setting that cannot be.
  changeOf(options);
  const work = async (registry: Registry) => {
    const { policy, removed, notes } = await setInRegistry(registry, options);
    host.write(`${[...removed.map(removedLine), ...policyLines(policy)].join('\n')}\n`);
    for (const note of notes) host.terminal.write(`note: ${note}\n`);
  };
  // What holds for jobs may be set before the first of them is there.
  await withControlRegistry(host, options, work, { mayMake: options.clear !== true });
}
