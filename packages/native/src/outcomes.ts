import { getSystemErrorName } from 'node:util';

/** Outcomes below 0 that are not an errno. src-c/codes.h has the same numbers. */
const NAMES = {
  [-10_001]: 'NOT_A_FILE',
  [-10_002]: 'OUTSIDE',
  [-10_003]: 'OTHER_VERSION',
  [-10_004]: 'ABORTED',
  [-10_005]: 'DETACHED',
  [-10_006]: 'INVALID_KEY',
} as const;

/** The outcome of a read that was aborted, or never started because the threads were closed. */
export const ABORTED = -10_004;

/**
 * Why a read failed; stable across releases:
 * - `NOT_A_FILE`: the key leads to something other than a regular file, such as a directory or a FIFO.
 * - `OUTSIDE`: a link leads out of the root; or it cannot be shown that it does not.
 * - `OTHER_VERSION`: the file does not have the requested version. The target may have been written to.
 * - `ABORTED`: by the signal, or by `close`. The target may have been written to, and no longer is.
 * - `DETACHED`: the target was transferred or made smaller meanwhile. Nothing was written to it.
 * - `INVALID_KEY`: empty, absolute, with `..` or NUL in it.
 * - any other: the name of the system's error, such as `ENOENT`.
 */
export type FailureCode = (typeof NAMES)[keyof typeof NAMES] | `E${string}`;

/** Returns the reason for an outcome below 0. */
export function failureOf(outcome: number): FailureCode {
  return (
    (NAMES as Readonly<Record<number, FailureCode>>)[outcome] ?? (getSystemErrorName(outcome) as FailureCode)
  );
}

/** The steps at which a write can fail, in the order of `enum step` in src-c/write-file.h. */
export const STEPS = [
  'open-directory',
  'create',
  'write',
  'sync',
  'close',
  'publish',
  'sync-directory',
] as const;

/** The step at which a write failed. */
export type WriteStep = (typeof STEPS)[number];

/** The steps of sharing memory between two processes. */
export type MemoryStep = 'make' | 'map' | 'give' | 'connect' | 'receive';

/** The operations on locks of numbers. */
export type LockStep = 'lock' | 'unlock';

/** A failed system call, with the fields of an error of `node:fs`, so that it can be handled as one. */
export class NativeError extends Error {
  override readonly name = 'NativeError';
  /** The reason; see `FailureCode`. */
  readonly code: FailureCode;
  /** The negative number of the reason. */
  readonly errno: number;
  /** The operation: `open`, `read`, or the step of a write, of sharing memory, or of a lock. */
  readonly syscall: 'open' | 'read' | WriteStep | MemoryStep | LockStep;

  /**
   * @param outcome Below 0.
   * @param syscall The operation.
   * @param what Its file or other subject, as named in messages.
   */
  constructor(outcome: number, syscall: NativeError['syscall'], what: string) {
    const code = failureOf(outcome);
    super(`${code}: ${syscall} ${what}`);
    this.code = code;
    this.errno = outcome;
    this.syscall = syscall;
  }
}
