import { TieredError } from '@tiered/core';

/**
 * Says what to install where `@tiered/interpose` is missing.
 * @throws TieredError `TIERED_UNSUPPORTED` that says what to install; errors that say anything else.
 */
export function asMissing(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
  const message = 'This command needs a package that is not installed: npm install @tiered/interpose';
  throw new TieredError('TIERED_UNSUPPORTED', message, { cause: error });
}
