import { nearest } from '@tiered/config/internal';
import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** The names of options: all of them, or it does not compile. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Refuses options that do not exist. Without this a mistyped one does nothing in JavaScript: `epoch: 90`
 * would train for one epoch.
 * @param call Whose options they are.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function assertKnown<Options extends object>(
  call: string,
  options: Options,
  known: OptionNames<Options>,
): void {
  if (typeof (options as unknown) !== 'object' || (options as unknown) === null)
    throw configError(call, 'options', options);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const meant = nearest(name, names);
    const advice = meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`;
    throw new TieredError('TIERED_CONFIG_INVALID', `${name}: ${call} has no such option; ${advice}`);
  }
}
