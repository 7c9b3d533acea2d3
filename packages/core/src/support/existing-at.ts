import { stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Returns the path, or the nearest one above it that exists: where a directory that is not there yet would be
 * made.
 * @throws errors of the system, such as `EACCES`.
 */
export async function existingAt(where: string): Promise<string> {
  try {
    await stat(where);
    return where;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const above = path.dirname(where);
    if (!['ENOENT', 'ENOTDIR'].includes(code) || above === where) throw error;
    return existingAt(above);
  }
}
