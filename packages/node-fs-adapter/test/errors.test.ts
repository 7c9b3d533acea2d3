import fs from 'node:fs/promises';
import { TieredError } from '@tiered/core';
import { expect, it } from 'vitest';
import { fromFsError, hasErrno } from '../src/errors.js';

/** An error as `node:fs` makes it. */
const fsError = (code: string) =>
  Object.assign(new Error(`${code}: read`), { code, syscall: 'read', errno: -1 });

it.each([
  ['ENOENT', 'TIERED_NOT_FOUND', false],
  ['EISDIR', 'TIERED_NOT_FOUND', false],
  ['ENOTDIR', 'TIERED_NOT_FOUND', false],
  ['ENXIO', 'TIERED_NOT_FOUND', false],
  ['ELOOP', 'TIERED_KEY_INVALID', false],
  ['ENAMETOOLONG', 'TIERED_KEY_INVALID', false],
  ['EACCES', 'TIERED_PERMISSION', false],
  ['EPERM', 'TIERED_PERMISSION', false],
  ['EROFS', 'TIERED_READ_ONLY', false],
  ['ENOSPC', 'TIERED_NO_SPACE', false],
  ['EDQUOT', 'TIERED_NO_SPACE', false],
  ['EMFILE', 'TIERED_TOO_MANY_OPEN', true],
  ['ENFILE', 'TIERED_TOO_MANY_OPEN', true],
  ['EIO', 'TIERED_IO', true],
  ['ESTALE', 'TIERED_IO', true],
  ['ETIMEDOUT', 'TIERED_IO', true],
  ['EAGAIN', 'TIERED_IO', true],
  ['EBUSY', 'TIERED_IO', true],
  ['EINTR', 'TIERED_IO', true],
  ['EHOSTDOWN', 'TIERED_IO', true],
  ['ENOTCONN', 'TIERED_IO', true],
  ['EINVAL', 'TIERED_IO', false],
  ['EXDEV', 'TIERED_IO', false],
  ['EFBIG', 'TIERED_IO', false],
  ['EANYTHING', 'TIERED_IO', false],
])('%s of the system is %s, retryable: %s', (errno, code, retryable) => {
  const cause = fsError(errno);
  const error = fromFsError(cause, 'fs:/data', 'read', 'a/b');
  expect(error).toBeInstanceOf(TieredError);
  expect(error).toMatchObject({ code, retryable, cause, driver: 'fs:/data', operation: 'read', key: 'a/b' });
});

it('a real error of the system is told apart, and told on', async () => {
  const cause: unknown = await fs.readFile('.').catch((error: unknown) => error);
  expect(fromFsError(cause, 'fs:.', 'read', '.')).toMatchObject({ code: 'TIERED_NOT_FOUND', cause });
  expect(hasErrno(cause, 'EISDIR')).toBe(true);
  expect(hasErrno(cause, 'ENOENT', 'EISDIR')).toBe(true);
  expect(hasErrno(cause, 'ENOENT')).toBe(false);
});

it('what is no error of the system passes as it is', () => {
  const notOfFs = [
    new TieredError('TIERED_SIZE_MISMATCH', 'too short'),
    new Error('plain'),
    Object.assign(new TypeError('bad argument'), { code: 'ERR_INVALID_ARG_VALUE' }),
    new DOMException('aborted', 'AbortError'),
    'a string',
    undefined,
    null,
  ];
  for (const error of notOfFs) {
    expect(fromFsError(error, 'fs:/data', 'read', 'a')).toBe(error);
    expect(hasErrno(error, 'ENOENT')).toBe(false);
  }
});
