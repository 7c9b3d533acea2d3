import {
  checkedPieces,
  TieredError,
  type StorageDriver,
  type WriteData,
  type WriteOptions,
} from '@tiered/core';
import { configError, gathered } from '@tiered/core/internal';
import path from 'node:path';

/**
 * Gathers all bytes of a write. OpenDAL's writers leave parts behind when they are not closed, and publish
 * when they are. Bytes that are given in one piece are not copied.
 */
export async function gather(
  driver: StorageDriver,
  key: string,
  data: WriteData,
  options: WriteOptions,
): Promise<Buffer> {
  const pieces = checkedPieces(driver, key, data, options);
  const whole = await gathered(pieces, data, () => allocate(driver, key, options.size));
  return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength);
}

function allocate(driver: StorageDriver, key: string, size: number): Uint8Array {
  try {
    return new Uint8Array(size);
  } catch (cause) {
    throw new TieredError(
      'TIERED_NO_SPACE',
      `${driver.name} cannot write ${size} bytes: an object is kept in memory until it is written, which is too much here.`,
      { cause, driver: driver.name, operation: 'write', key },
    );
  }
}

/**
 * Without `atomic_write_dir` readers would see files half written. If it is inside the root, its files would
 * be objects.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function assertAtomicFiles({
  root = '',
  atomic_write_dir: directory,
}: Readonly<Record<string, string>>): void {
  const field = 'options.atomic_write_dir';
  const expected =
    'a directory outside the root, on the same file system, since the driver is to write files';
  if (directory === undefined || directory === '') throw configError(field, expected, directory);
  const [first] = path.relative(path.resolve(root), path.resolve(directory)).split(path.sep);
  if (first !== '..' && !path.isAbsolute(first ?? '')) throw configError(field, expected, directory);
}

/** The error of a write that must not replace anything, where there is an object. */
export function taken({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_EXISTS',
    `${name} has an object ${JSON.stringify(key)} already; nothing was written.`,
    { driver: name, operation: 'write', key },
  );
}

/** The error of a write that must not replace anything, where nothing can guarantee that. */
export function noConditions({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_UNSUPPORTED',
    `${name} cannot write an object only if there is none: OpenDAL does not have this service decide it.`,
    { driver: name, operation: 'write', key },
  );
}

/** The error of a write where a directory is. */
export function conflict({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_KEY_CONFLICT',
    `${name}: ${JSON.stringify(key)} is a directory, which files or other objects keep; choose another key.`,
    { driver: name, operation: 'write', key },
  );
}
