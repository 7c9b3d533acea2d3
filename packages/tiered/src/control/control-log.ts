import type { Control, ControlEvents } from '@tiered/control';
import type { Clock } from '@tiered/core';
import { meaningOf, type SafeEmitter } from '@tiered/core/internal';
import { quietLog, type LogTargets } from '../quiet-log.js';
import { foundSettings } from './found-settings.js';

/**
 * Tells people what operators have set of a job that has joined, and from then on whether the registry of
 * jobs can be reached. Lines hold codes of errors, and no secrets.
 */
export function logControl(
  control: SafeEmitter<ControlEvents> & Pick<Control, 'view' | 'shares'>,
  job: string,
  clock: Clock,
  { warn, note }: LogTargets,
): void {
  const tell = quietLog(`job ${job}`, clock);
  const found = foundSettings(control);
  if (found !== undefined) tell('set', found, warn);
  control.on('registryLost', ({ error }) =>
    tell(
      'lost',
      `the registry cannot be reached (${meaningOf(error)}); its share stays for a while, and then is the one that it can count on`,
      warn,
    ),
  );
  control.on('registryFound', () => tell('found', 'the registry can be reached again', note));
}
