import { isUtf8 } from 'node:buffer';
import fs from 'node:fs';
import { TieredError } from '@tiered/core';

/** Stands in a name for bytes that are no UTF-8. It may also be in the name itself. */
export const REPLACED = '\ufffd';

/** Entries per call. */
const ENTRIES_AT_ONCE = 256;

/**
 * Looks at the names of a directory as they are on the disk. Costs a second pass over it, so it is for
 * directories with a name that holds `REPLACED`.
 * @param prefix What keys in the directory begin with.
 * @throws TieredError `TIERED_KEY_INVALID` for a name that is not UTF-8, which no key can name.
 */
export async function assertNames(directory: string, prefix: string, driver: string): Promise<void> {
  const entries = await fs.promises.opendir(directory, {
    // The types know no directories of buffers.
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

/** A name with the bytes above ASCII as `ls -b` shows them, in hexadecimal. */
function shown(name: Buffer): string {
  return name
    .toString('latin1')
    .replaceAll(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
