import { configError } from '@tiered/core/internal';
import { SESSION_VARIABLE } from '@tiered/interpose';
import path from 'node:path';

/**
 * The directory of a session: the one that is named, else the one that this program was started with.
 * @throws TieredError `TIERED_CONFIG_INVALID` if there is neither.
 */
export function sessionAt(at: string | undefined): string {
  const directory = at ?? process.env[SESSION_VARIABLE];
  if (directory === undefined) throw configError('--at', 'the directory of a "tiered daemon"', at);
  return path.resolve(directory);
}
