import type { Command } from 'commander';
import type { CommandHost } from '../host.js';
import { addControlRegistryOptions, type ControlRegistryOptions } from '../options.js';

/** Adds `tiered control show`. */
export function addShowCommand(control: Command, host: CommandHost): void {
  addControlRegistryOptions(control.command('show'))
    .option(
      '--json',
      'the same as JSON: null means no bound, nodes are machines, idle lists jobs that read from no ' +
        'source yet',
    )
    .description(
      'Shows what each source gives, where that figure comes from, and what each job wants, gets and uses ' +
        'of it',
    )
    .action((options: ShowOptions) => show(host, options));
}

interface ShowOptions extends ControlRegistryOptions {
  readonly json?: boolean;
}

/** Says how jobs share sources at this moment, and what operators have set. */
async function show(host: CommandHost, options: ShowOptions): Promise<void> {
  const { look } = await import('@tiered/control');
  const { nobodyIn, withControlRegistry } = await import('../shared/control-registry.js');
  const { policyLines, viewLines } = await import('../../control-room/text.js');
  const { widthOf } = await import('../shared/drawing.js');
  const { viewOf } = await import('../../control-room/view.js');
  await withControlRegistry(host, options, async (registry) => {
    const seen = await look(registry);
    const view = viewOf(seen);
    if (options.json === true) {
      host.write(`${JSON.stringify({ ...view, policy: seen.policy ?? null }, undefined, 2)}\n`);
      return;
    }
    const lines = seen.stages.length === 0 ? [nobodyIn(registry)] : viewLines(view, widthOf(host));
    host.write(`${[...lines, ...policyLines(seen.policy)].join('\n')}\n`);
  });
}
