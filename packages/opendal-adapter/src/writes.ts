import { TieredError, type StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import path from 'node:path';

/**
 * Without `atomic_write_dir` readers would see partially written files. If it is inside the root, its files
 * would be objects.
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

/** The error of a write that must not replace anything, if there is an object. */
export function taken({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_EXISTS',
    `${name} has an object ${JSON.stringify(key)} already; nothing was written.`,
    { driver: name, operation: 'write', key },
  );
}

/** The error of a write that must not replace anything, if that cannot be guaranteed. */
export function noConditions({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_UNSUPPORTED',
    `${name} cannot write an object only if there is none: OpenDAL does not have this service decide it.`,
    { driver: name, operation: 'write', key },
  );
}

/** The error of a write to the path of a directory. */
export function conflict({ name }: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_KEY_CONFLICT',
    `${name}: ${JSON.stringify(key)} is a directory, which files or other objects keep; choose another key.`,
    { driver: name, operation: 'write', key },
  );
}
