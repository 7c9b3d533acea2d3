import { isTieredError, TieredError, type ErrorCode, type StorageDriver } from '@tiered/core';
import type { Operation } from '@tiered/core/driver';

interface Meaning {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly advice: string;
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOENT: {
    code: 'TIERED_NOT_FOUND',
    retryable: false,
    advice:
      'there is no such file: it was deleted since, or the key is no path below the root, as list() gives them',
  },
  EISDIR: { code: 'TIERED_NOT_FOUND', retryable: false, advice: 'that is a directory' },
  ENOTDIR: { code: 'TIERED_NOT_FOUND', retryable: false, advice: 'a file stands where a directory must be' },
  // A FIFO, which has no positions to read from.
  ESPIPE: { code: 'TIERED_NOT_FOUND', retryable: false, advice: 'that is not a regular file' },
  // Opening a socket file.
  ENXIO: { code: 'TIERED_NOT_FOUND', retryable: false, advice: 'that is not a regular file' },
  ELOOP: { code: 'TIERED_KEY_INVALID', retryable: false, advice: 'its symbolic links go in circles' },
  ENAMETOOLONG: {
    code: 'TIERED_KEY_INVALID',
    retryable: false,
    advice: 'the name is too long for this file system',
  },
  EACCES: { code: 'TIERED_PERMISSION', retryable: false, advice: 'access is denied; check owner and mode' },
  EPERM: {
    code: 'TIERED_PERMISSION',
    retryable: false,
    advice: 'not permitted; check owner, mode and attributes',
  },
  EROFS: { code: 'TIERED_READ_ONLY', retryable: false, advice: 'the file system is mounted read-only' },
  ENOSPC: { code: 'TIERED_NO_SPACE', retryable: false, advice: 'the disk is full' },
  EDQUOT: { code: 'TIERED_NO_SPACE', retryable: false, advice: "the user's disk quota is used up" },
  EMFILE: { code: 'TIERED_TOO_MANY_OPEN', retryable: true, advice: 'lower maxOpenFiles or raise ulimit -n' },
  ENFILE: { code: 'TIERED_TOO_MANY_OPEN', retryable: true, advice: 'the system is out of file descriptors' },
};

/** Faults that may be gone at the next try: timeouts of network file systems, interrupted and busy calls. */
const PASSING = new Set(['EIO', 'ESTALE', 'ETIMEDOUT', 'EAGAIN', 'EBUSY', 'EINTR', 'EHOSTDOWN', 'ENOTCONN']);

/** Whether an error of `node:fs` is a fault of the storage itself, and not of the request. */
export function isFault(error: unknown): boolean {
  return hasErrno(error, ...PASSING);
}

/** Translates an error of `node:fs` into one of the SDK. Other errors are returned unchanged. */
export function fromFsError(error: unknown, driver: string, operation: Operation, key: string): unknown {
  const errno = (error as NodeJS.ErrnoException | null)?.code;
  if (isTieredError(error) || errno === undefined || (error as NodeJS.ErrnoException).syscall === undefined)
    return error;
  const { code, retryable, advice } = MEANINGS[errno] ?? {
    code: 'TIERED_IO' as const,
    retryable: PASSING.has(errno),
    advice: `the system says ${errno}`,
  };
  const object = key === '' ? '' : ` of ${JSON.stringify(key)}`;
  return new TieredError(code, `${driver}: ${operation}${object} failed: ${advice}.`, {
    cause: error,
    retryable,
    driver,
    operation,
    key,
  });
}

/** Whether an error of `node:fs` has one of these codes. */
export function hasErrno(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | null)?.code ?? '');
}

/** Makes the error of a key that leads to something other than a file. */
export function notAFile(driver: StorageDriver, operation: Operation, key: string): TieredError {
  return new TieredError(
    'TIERED_NOT_FOUND',
    `${driver.name}: ${JSON.stringify(key)} is not a regular file.`,
    {
      driver: driver.name,
      operation,
      key,
    },
  );
}
