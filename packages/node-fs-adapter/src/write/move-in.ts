import fs from 'node:fs';
import path from 'node:path';
import { TieredError, type ErrorCode } from '@tiered/core';
import type { Operation } from '@tiered/core/driver';
import { hasErrno } from '../errors.js';
import type { RootDirectory } from '../root/root-directory.js';

/** A file that will get the name of its object. */
export interface MoveInOptions {
  readonly root: RootDirectory;
  readonly key: string;
  readonly filePath: string;
  /** Whether it may not replace another file. */
  readonly ifAbsent: boolean;
  readonly driver: string;
  /** The operation named in errors. */
  readonly publishing: Operation;
}

/**
 * Tries of a move. A parent directory may be removed as empty just before the file moves in, and is then
 * created again. Each lost try means that a neighbour was deleted meanwhile, so many tries are lost only
 * where many are deleted.
 */
export const TRIES = 50;

/**
 * Gives a temporary file the name of its object, in one step, and creates the missing directories above it.
 */
export async function moveIn(temporary: string, options: MoveInOptions): Promise<void> {
  const { root, key, filePath, ifAbsent } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      await root.makeDirectory(path.dirname(filePath), key);
      if (ifAbsent) await linkIn(temporary, options);
      else await fs.promises.rename(temporary, filePath);
      return;
    } catch (error) {
      if (!hasErrno(error, 'ENOENT') || attempt === TRIES) throw conflictOf(error, options);
    }
  }
}

/** Translates an error about directories or names into one about keys. Others are returned unchanged. */
export function conflictOf(error: unknown, options: MoveInOptions): unknown {
  if (!hasErrno(error, 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY')) return error;
  return failure(
    options,
    'TIERED_KEY_CONFLICT',
    'cannot be a file here, because another key made it, or a part of it, the other of file and directory',
    error,
  );
}

/** Links the file, because a rename would replace an existing one. A link is made only if there is none. */
async function linkIn(temporary: string, options: MoveInOptions): Promise<void> {
  try {
    await fs.promises.link(temporary, options.filePath);
  } catch (error) {
    throw await refusalOf(error, options);
  }
  // The object exists. The other name does no harm, and the next open() removes it if this does not.
  await fs.promises.unlink(temporary).catch(() => undefined);
}

/** Translates the error of a link that was not made. Errors about directories are returned unchanged. */
export async function refusalOf(error: unknown, options: MoveInOptions): Promise<unknown> {
  if (hasErrno(error, 'EPERM', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'))
    return failure(
      options,
      'TIERED_UNSUPPORTED',
      'cannot be linked: no hard links on this file system',
      error,
    );
  if (!hasErrno(error, 'EEXIST') || (await isDirectory(options.filePath))) return error;
  return failure(options, 'TIERED_EXISTS', 'is there already, and was not to be replaced', error);
}

async function isDirectory(filePath: string): Promise<boolean> {
  const stat = await fs.promises.lstat(filePath).catch(() => undefined);
  return stat?.isDirectory() === true;
}

function failure(
  { driver, key, publishing }: MoveInOptions,
  code: ErrorCode,
  what: string,
  cause: unknown,
): TieredError {
  const message = `${driver}: ${JSON.stringify(key)} ${what}; nothing was published.`;
  return new TieredError(code, message, { cause, driver, operation: publishing, key });
}
