import { TieredError } from '@tiered/core';

/**
 * Says what to install where `@tiered/interpose` is missing.
 * @throws TieredError `TIERED_UNSUPPORTED` that says what to install; errors that say anything else.
 */
export function asMissing(error: unknown): never {
  const { code, message: said } = error as NodeJS.ErrnoException;
  // What is missing may be a module of that package, or of this one: only the message says which.
  if (code !== 'ERR_MODULE_NOT_FOUND' || !said.includes("package '@tiered/interpose'")) throw error;
  const message = 'This command needs a package that is not installed: npm install @tiered/interpose';
  throw new TieredError('TIERED_UNSUPPORTED', message, { cause: error });
}
