import type { StorageDriver } from '@tiered/core';
import { versionChanged, type Operation } from '@tiered/core/driver';
import { notAFile } from '../errors.js';
import { isSame, sizeIn, versionOf, type FileLook } from '../file-version.js';
import type { OpenFile, OpenFiles } from '../root/open-files.js';
import type { SizedFile } from './file-calls.js';

/** Returns a file with its size, if the version contains it. */
export function sized({ fd, version }: Pick<OpenFile, 'fd' | 'version'>): SizedFile {
  return { fd, size: sizeIn(version) };
}

/**
 * Whether a file has to be checked after a read: its version, or, if nothing was read, that it is a file at
 * all.
 */
export function mustLookAt({ version }: OpenFile, count: number): boolean {
  return version !== undefined || count === 0;
}

/**
 * Checks that an open file is the requested one. Called after the bytes were read, because a file may be
 * changed while it is read.
 * @param now The file's state after the read.
 * @throws TieredError `TIERED_NOT_FOUND`, `TIERED_SOURCE_CHANGED`
 */
export function assertFile(
  { driver, files }: { readonly driver: StorageDriver; readonly files: OpenFiles },
  operation: Operation,
  key: string,
  file: OpenFile,
  now: FileLook,
): void {
  if (!now.isFile()) throw notAFile(driver, operation, key);
  const { version, verified, isVerified } = file;
  if (version === undefined) return;
  const isSameVersion = verified === undefined ? version === versionOf(now) : isSame(verified, now);
  // The name is gone, or belongs to another file. Only the descriptor still leads here.
  const isUnlinked = now.nlink === 0n;
  if (isSameVersion && !isUnlinked) {
    file.isVerified = true;
    file.verified ??= now;
    return;
  }
  files.forget(key);
  // A file that was not verified before existed when its read began. Some file systems count no links.
  if (isSameVersion && !isVerified) return;
  throw versionChanged(driver, operation, key);
}
