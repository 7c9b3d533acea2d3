import type { Command } from 'commander';
import { once } from 'node:events';
import { portNumber } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { addControlRegistryOptions, type ControlRegistryOptions } from '../options.js';

/** Adds `tiered control serve`. */
export function addServeCommand(control: Command, host: CommandHost): void {
  addControlRegistryOptions(control.command('serve'))
    .option('--port <n>', 'port of 127.0.0.1; 0: a free one', portNumber, 0)
    .option('--allow-set', 'lets the page change the same settings as "tiered control set"')
    .description(
      'Serves a page with live charts of all jobs and sources, to this machine only; its address holds a ' +
        'token, so keep it secret',
    )
    .action((options: ServeOptions) => serve(host, options));
}

interface ServeOptions extends ControlRegistryOptions {
  readonly port: number;
  readonly allowSet?: boolean;
}

/** Serves the page until a signal ends it. */
async function serve(host: CommandHost, options: ServeOptions): Promise<void> {
  const { withControlRegistry } = await import('../shared/control-registry.js');
  const { serveControlRoom } = await import('../../control-room/serve.js');
  const { portTaken } = await import('../shared/port-taken.js');
  const { port, allowSet } = options;
  await withControlRegistry(host, options, (registry) =>
    untilInterrupted(host.clock, async (signal) => {
      await using room = await serveControlRoom({ registry, clock: host.clock, port, allowSet }).catch(
        (error: unknown) => {
          throw portTaken(error);
        },
      );
      host.write(`${room.url}\n`);
      if (!signal.aborted) await once(signal, 'abort');
    }),
  );
}
