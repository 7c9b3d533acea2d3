import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { ERROR_CODES, isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import { closedError, configError, invariant } from '@tiered/core/internal';

/** The codes of the first release. Codes may be added; one of these must never go or be renamed. */
const FIRST_CODES: readonly ErrorCode[] = [
  'TIERED_NOT_FOUND',
  'TIERED_KEY_INVALID',
  'TIERED_KEY_CONFLICT',
  'TIERED_RANGE_INVALID',
  'TIERED_CONFIG_INVALID',
  'TIERED_NOT_OPEN',
  'TIERED_CLOSED',
  'TIERED_UNSUPPORTED',
  'TIERED_IO',
  'TIERED_PERMISSION',
  'TIERED_READ_ONLY',
  'TIERED_NO_SPACE',
  'TIERED_TOO_MANY_OPEN',
  'TIERED_UNAVAILABLE',
  'TIERED_DIRECTORY_NOT_OURS',
  'TIERED_SIZE_MISMATCH',
  'TIERED_SOURCE_CHANGED',
  'TIERED_DATA_CORRUPT',
  'TIERED_DEADLINE',
  'TIERED_FAULT_INJECTED',
];

/** Another copy of the package in this process, as two versions in one dependency tree are. */
async function otherCopy() {
  vi.resetModules();
  return import('@tiered/core');
}

describe('error codes', () => {
  it('are all still there', () => {
    expect(Object.keys(ERROR_CODES)).toEqual(expect.arrayContaining([...FIRST_CODES]));
  });

  it('say in a sentence what they mean', () => {
    for (const [code, meaning] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^TIERED_[A-Z_]+$/);
      expect(meaning).toMatch(/^\S.*\.$/);
    }
  });
});

describe('TieredError', () => {
  it('has no field that nobody gave, so that Node prints none', () => {
    const printed = inspect(new TieredError('TIERED_IO', 'x', { key: 'a', driver: undefined }));
    expect(printed).toContain("key: 'a'");
    expect(printed).not.toContain('undefined');
  });

  it('is an Error with a name, a stack and its message', () => {
    const error = new TieredError('TIERED_IO', 'The disk failed.');
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('TieredError');
    expect(error.message).toBe('The disk failed.');
    expect(error.stack).toContain('errors.test.ts');
  });

  it('is not retryable unless said where it is born', () => {
    expect(new TieredError('TIERED_IO', 'x').retryable).toBe(false);
    expect(new TieredError('TIERED_IO', 'x', { retryable: true }).retryable).toBe(true);
  });

  it('keeps the cause as it was, whatever it is', () => {
    const below = new Error('EIO');
    expect(new TieredError('TIERED_IO', 'x', { cause: below }).cause).toBe(below);
    expect(new TieredError('TIERED_IO', 'x', { cause: null }).cause).toBe(null);
  });

  it('has no cause property if there is no cause, so that it is not printed', () => {
    expect('cause' in new TieredError('TIERED_IO', 'x')).toBe(false);
  });

  it('knows where it happened', () => {
    const details = { key: 'a/b', driver: 'fs:/data', operation: 'read', attempts: 3 };
    expect(new TieredError('TIERED_IO', 'x', details)).toMatchObject(details);
  });
});

describe('isTieredError', () => {
  it('accepts a TieredError and nothing else', () => {
    expect(isTieredError(new TieredError('TIERED_IO', 'x'))).toBe(true);
    const lookalike = Object.assign(new Error('x'), { name: 'TieredError', code: 'TIERED_IO' });
    for (const other of [lookalike, new Error('x'), { code: 'TIERED_IO' }, 'TIERED_IO', null, undefined]) {
      expect(isTieredError(other)).toBe(false);
    }
  });

  it('compares the code if one is given', () => {
    const error: unknown = new TieredError('TIERED_CLOSED', 'x');
    expect(isTieredError(error, 'TIERED_CLOSED')).toBe(true);
    expect(isTieredError(error, 'TIERED_IO')).toBe(false);
  });

  it('recognises the errors of another copy of the package, which instanceof does not', async () => {
    const other = await otherCopy();
    const theirs: unknown = new other.TieredError('TIERED_IO', 'x');
    expect(theirs).not.toBeInstanceOf(TieredError);
    expect(isTieredError(theirs, 'TIERED_IO')).toBe(true);
    expect(other.isTieredError(new TieredError('TIERED_IO', 'x'), 'TIERED_IO')).toBe(true);
  });
});

describe('errors that several modules throw', () => {
  it('have their codes, and are not retryable', () => {
    expect(configError('field', 'a number', 'x')).toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
      retryable: false,
    });
    expect(closedError()).toMatchObject({ code: 'TIERED_CLOSED', retryable: false });
  });

  it.each([['text'], [7], [Number.NaN], [true], [undefined], [null], [{ secret: 'hunter2' }], [() => 1]])(
    'a config error can be made for %o and names the field',
    (value) => {
      const { message } = configError('tiers[0].quota', 'a size', value);
      expect(message).toContain('tiers[0].quota');
      expect(message).not.toContain('hunter2');
    },
  );
});

describe('invariant', () => {
  it('throws only if the condition does not hold, and not as an operating fault', () => {
    expect(() => invariant(true, 'x')).not.toThrow();
    let thrown: unknown;
    try {
      invariant(false, 'the ledger is negative');
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(Error);
    expect(isTieredError(thrown)).toBe(false);
  });
});
