import { isTieredError } from '@tiered/core';
import os from 'node:os';

const { ENOENT, EACCES, ENOSPC, EMFILE, EIO } = os.constants.errno;
const NUMBERS = new Map<string, number>([
  ['TIERED_NOT_FOUND', ENOENT],
  ['TIERED_PERMISSION', EACCES],
  ['TIERED_NO_SPACE', ENOSPC],
  ['TIERED_TOO_MANY_OPEN', EMFILE],
]);

/** The number by which programs know what went wrong; EIO for what has no number. */
export function errnoOf(error: unknown): number {
  if (isTieredError(error)) return NUMBERS.get(error.code) ?? EIO;
  const { code } = error as NodeJS.ErrnoException;
  return (code !== undefined && os.constants.errno[code as keyof typeof os.constants.errno]) || EIO;
}
