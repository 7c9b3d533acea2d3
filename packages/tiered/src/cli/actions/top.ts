import { loadConfig } from '@tiered/config';
import { TieredError } from '@tiered/core';
import { createLogUpdate } from 'log-update';
import { askAll, ownSockets, type Watched } from '../../monitor/sockets.js';
import type { CommandHost } from '../host.js';
import { watchedText } from './top-text.js';

/** What `tiered top` is told. */
export interface TopOptions {
  readonly directory?: string;
  /** Seconds. */
  readonly interval: number;
  readonly count?: number;
  readonly json?: boolean;
}

/** Shows what the processes at a directory's sockets do, again and again. Fails if there is none at first. */
export async function top(host: CommandHost, config: string | undefined, options: TopOptions): Promise<void> {
  const { interval, count = Infinity, json = false } = options;
  const directory = await directoryOf(host, config, options.directory);
  const { output, clock } = host;
  const isScreen = output.isTTY === true && !json;
  const update = isScreen ? createLogUpdate(output) : undefined;
  let before: readonly Watched[] = [];
  for (let looks = 1; ; looks++) {
    const now = await askAll(directory);
    if (looks === 1 && now.length === 0) throw nobody(directory);
    if (json) host.write(`${JSON.stringify(now)}\n`);
    else {
      const text = watchedText(now, before) || 'nobody is there any more';
      if (update === undefined) host.write(`${text}\n`);
      else update(text);
    }
    if (looks >= count) break;
    before = now;
    await clock.sleep(interval * 1000);
  }
  update?.done();
}

async function directoryOf(
  host: CommandHost,
  config: string | undefined,
  directory: string | undefined,
): Promise<string> {
  if (config === undefined) return directory ?? ownSockets();
  if (directory !== undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      'top: expected a configuration, or --directory; it says whom to watch',
    );
  const { monitor } = await loadConfig(config, { clock: host.clock });
  // Those that "tiered run" and "tiered daemon" serve are there then.
  return monitor ?? ownSockets();
}

function nobody(directory: string): TieredError {
  return new TieredError(
    'TIERED_NOT_FOUND',
    `Nobody offers a socket in ${directory}; start the training by "tiered run", or name a directory there as "monitor" in its ` +
      'configuration, or in its calls of openDataset or serveMonitor.',
  );
}
