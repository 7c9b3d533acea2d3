import { TieredError } from '@tiered/core';
import { readFile } from 'node:fs/promises';

/**
 * Makes something of a JSON document in a file.
 * @param what It is to be, for the message.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a file that is none; the system's error for one that cannot
 * be read.
 */
export async function readJsonFile<T>(file: string, what: string, parse: (value: unknown) => T): Promise<T> {
  const text = await readFile(file, 'utf8');
  try {
    return parse(JSON.parse(text));
  } catch (cause) {
    const { message } = cause as Error;
    throw new TieredError('TIERED_CONFIG_INVALID', `${file} is no ${what}: ${message}`, { cause });
  }
}
