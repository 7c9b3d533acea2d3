import { isUtf8 } from 'node:buffer';
import fs from 'node:fs';
import { TieredError } from '@tiered/core';

/** Replaces bytes in a name that are not UTF-8. It may also be part of the name itself. */
export const REPLACED = '\ufffd';

/** Entries per call. */
const ENTRIES_AT_ONCE = 256;

/**
 * Checks the names in a directory as they are on the disk. Costs a second pass over the directory, so it is
 * for directories with a name that contains `REPLACED`.
 * @param prefix The prefix of keys in the directory.
 * @throws TieredError `TIERED_KEY_INVALID` for a name that is not UTF-8, which no key can name.
 */
export async function assertNames(directory: string, prefix: string, driver: string): Promise<void> {
  const entries = await fs.promises.opendir(directory, {
    // The types lack directories of buffers.
    encoding: 'buffer' as BufferEncoding,
    bufferSize: ENTRIES_AT_ONCE,
  });
  for await (const { name } of entries as AsyncIterable<{ readonly name: unknown }>) {
    const bytes = name as Buffer;
    if (isUtf8(bytes)) continue;
    throw new TieredError(
      'TIERED_KEY_INVALID',
      `${driver}: the name of ${JSON.stringify(prefix)} + "${shown(bytes)}" is not UTF-8, so no key can name that file; ` +
        `rename it, for example by convmv -r -f latin1 -t utf8 --notest, or move it out of the root.`,
      { driver, operation: 'list', key: `${prefix}${bytes.toString()}` },
    );
  }
}

/** A name whose bytes above ASCII are shown in hexadecimal, as by `ls -b`. */
function shown(name: Buffer): string {
  return name
    .toString('latin1')
    .replaceAll(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
