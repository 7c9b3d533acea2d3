import { TieredError } from '@tiered/core';
import type { Command } from 'commander';
import type { CommandHost } from '../host.js';
import { addControlRegistryOptions, type ControlRegistryOptions } from '../options.js';

/** Adds `tiered control why`. */
export function addWhyCommand(control: Command, host: CommandHost): void {
  addControlRegistryOptions(control.command('why'))
    .argument('<job>', 'the job')
    .description('Explains in words why a job gets its share of each source, and of tiers that it shares')
    .action((job: string, options: ControlRegistryOptions) => why(host, job, options));
}

/** Says why a job gets what it gets. Fails if no stage of it is there. */
async function why(host: CommandHost, job: string, options: ControlRegistryOptions): Promise<void> {
  const { decide, explain, explainTiers, look } = await import('@tiered/control');
  const { nobodyIn, withControlRegistry } = await import('../shared/control-registry.js');
  await withControlRegistry(host, options, async (registry) => {
    const { stages, policy } = await look(registry);
    const jobs = new Set(stages.map((stage) => stage.job));
    if (jobs.size === 0) throw new TieredError('TIERED_NOT_FOUND', nobodyIn(registry));
    if (!jobs.has(job)) {
      const message = `There is no job ${job} in ${registry.name}; there are: ${[...jobs].sort().join(', ')}`;
      throw new TieredError('TIERED_NOT_FOUND', message);
    }
    const decision = decide(stages, policy);
    const ofSources = explain(decision, job);
    const sentences = ofSources.length > 0 ? ofSources : [`${job} reads from no source yet.`];
    host.write(`${[...sentences, ...explainTiers(decision, job)].join('\n')}\n`);
  });
}
