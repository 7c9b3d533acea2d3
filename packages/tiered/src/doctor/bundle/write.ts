import { TieredError } from '@tiered/core';
import { access, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Bundle } from './bundle.js';

/** Only the owner reads it: it has no secrets, but nobody else's business is in it either. */
const MODE = 0o600;

/**
 * Writes a bundle to a new file, compressed if its name ends with `.gz`.
 * @throws TieredError `TIERED_CONFIG_INVALID` if there is such a file, or none can be made.
 */
export async function writeBundle(file: string, bundle: Bundle): Promise<void> {
  const text = `${JSON.stringify(bundle, undefined, 2)}\n`;
  const bytes = file.endsWith('.gz') ? await promisify(gzip)(text) : text;
  try {
    await writeFile(file, bytes, { flag: 'wx', mode: MODE });
  } catch (cause) {
    throw refused(file, cause as NodeJS.ErrnoException);
  }
}

/**
 * Refuses a file that is there already, before time is spent on what is to be in it.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export async function assertNew(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw refused(file, Object.assign(new Error(), { code: 'EEXIST' }));
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it is there already; name a new file',
  ENOENT: 'there is no such directory; make it first',
  ENOTDIR: 'a file stands where a directory must be',
  EACCES: 'access is denied',
};

function refused(file: string, cause: NodeJS.ErrnoException): TieredError {
  const reason = REASONS[cause.code ?? ''] ?? `the system says ${cause.code}`;
  return new TieredError('TIERED_CONFIG_INVALID', `--bundle: ${file} cannot be written: ${reason}.`, {
    cause,
  });
}
