/**
 * Every code that a `TieredError` can carry, with its meaning. Codes are stable across releases. Messages are
 * not, so match on `code` only.
 */
export const ERROR_CODES = {
  TIERED_NOT_FOUND: 'The object does not exist where it was asked for.',
  TIERED_KEY_INVALID: 'The key is empty, malformed, or would leave the root of the driver.',
  TIERED_KEY_CONFLICT: 'Another object stands in the way, as file "a" does for key "a/b" in a directory.',
  TIERED_EXISTS: 'There is an object of this key already, and it was to be written only if there was none.',
  TIERED_RANGE_INVALID:
    'Offset or length is not a whole number of bytes, is negative, or does not fit the target.',
  TIERED_CONFIG_INVALID: 'An option cannot work; the message names the field and what was expected.',
  TIERED_NOT_OPEN: 'The operation needs open() first.',
  TIERED_ALREADY_OPEN: 'It was opened before, or serves another hierarchy, and does so only once.',
  TIERED_CLOSED: 'The object is closing or closed; the operation did not happen.',
  TIERED_UNSUPPORTED: 'The driver, its storage or this machine cannot do this.',
  TIERED_VERSION_MISMATCH:
    'The other process speaks another version of the protocol; use the same package in both.',
  TIERED_LIMIT_REACHED: 'As much is held as may be held at a time; release something first.',
  TIERED_VIEW_TRANSFERRED: 'A view that was lent was transferred by its borrower, and its memory is gone.',
  TIERED_TOO_LARGE: 'There is no memory for all of the object at once, or a limit on it; read it in parts.',
  TIERED_IO: 'The storage below failed; `cause` is its own error.',
  TIERED_PERMISSION: 'The storage below refused access.',
  TIERED_READ_ONLY: 'The storage below does not accept writes.',
  TIERED_NO_SPACE: 'The storage below is full, or its quota is used up.',
  TIERED_TOO_MANY_OPEN: 'The process or the system has no file descriptor left.',
  TIERED_UNAVAILABLE: 'The storage below is missing, is not a directory, or does not respond.',
  TIERED_DIRECTORY_NOT_OURS: 'A directory given for writing holds files that tiered did not write.',
  TIERED_SIZE_MISMATCH: 'A write delivered more or fewer bytes than it announced; nothing was published.',
  TIERED_SOURCE_CHANGED: 'The object in the source is no longer the one whose size is known.',
  TIERED_DATA_CORRUPT: 'Bytes do not have the form or the checksum they must have.',
  TIERED_TRANSFORM_FAILED: 'A function that a loader was given for its samples threw; `cause` is its error.',
  TIERED_WORKER_FAILED: 'A worker thread of a loader ended before its work was done; `cause` says why.',
  TIERED_DEADLINE: 'The deadline passed before the operation succeeded.',
  TIERED_FAULT_INJECTED: 'A fault that a FaultDriver was asked for.',
} as const;

/** A stable error code. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The context of an error. */
export interface TieredErrorDetails {
  /** The error of the layer below, unchanged. */
  readonly cause?: unknown;
  /** Whether a retry of the same call may succeed. Decided where the error is made. Default: false. */
  readonly retryable?: boolean | undefined;
  /** The object concerned. */
  readonly key?: string | undefined;
  /** The name of the driver that failed. */
  readonly driver?: string | undefined;
  /** The operation that failed. */
  readonly operation?: string | undefined;
  /** How often the operation was tried, if more than once. */
  readonly attempts?: number | undefined;
}

const BRAND = Symbol.for('@tiered/core/TieredError');

/**
 * The one error class of the SDK. `code` identifies the failure, `retryable` tells whether a retry may help,
 * and the message says what to do. `cause` keeps the error of the layer below.
 */
export class TieredError extends Error {
  override readonly name = 'TieredError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  // Declared, so that an uncaught error is printed without the fields it does not have.
  declare readonly key: string | undefined;
  declare readonly driver: string | undefined;
  declare readonly operation: string | undefined;
  declare readonly attempts: number | undefined;
  /** Lets `isTieredError` recognise errors of another copy of this package in the same process. */
  readonly [BRAND] = true;

  /**
   * @param code Stable code, see `ERROR_CODES`.
   * @param message What happened and what to do about it; holds no secrets.
   * @param details Where it happened, and the cause.
   */
  constructor(code: ErrorCode, message: string, details: TieredErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryable = details.retryable ?? false;
    const { key, driver, operation, attempts } = details;
    if (key !== undefined) this.key = key;
    if (driver !== undefined) this.driver = driver;
    if (operation !== undefined) this.operation = operation;
    if (attempts !== undefined) this.attempts = attempts;
  }
}

/**
 * Returns whether a value is a `TieredError`, even one of another copy of this package.
 * @param value Any thrown value.
 * @param code If given, the error must carry this code too.
 */
export function isTieredError(value: unknown, code?: ErrorCode): value is TieredError {
  if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
  return code === undefined || (value as TieredError).code === code;
}

/** The part of an error that cannot hold a secret or a key, for logs. */
export function meaningOf(error: unknown): string {
  return isTieredError(error) ? `${error.code}: ${ERROR_CODES[error.code]}` : 'an error without a code';
}

/**
 * Throws if an invariant of this SDK is violated. That is a bug of the SDK, never bad input. The check stays
 * on in production, because continuing with wrong accounting would break promises silently.
 * @param condition The condition that must hold.
 * @param message The violated invariant.
 */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition)
    throw new Error(`tiered: invariant violated: ${message}. This is a bug in tiered; please report it.`);
}

/** Makes the error for an invalid option. */
export function configError(field: string, expected: string, got: unknown): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `${field}: expected ${expected}, got ${describe(got)}`);
}

/**
 * As `configError`, for values that may be secret. Describes the problem with the value instead of showing
 * it.
 */
export function hiddenConfigError(field: string, expected: string, got: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `${field}: expected ${expected}, got ${got}`);
}

/**
 * Refuses a path that a shell expands to a home directory. Only a shell expands `~`. Everything else takes it
 * for a directory of that name in the working directory, which a tier would create and fill. If configuration
 * files expanded it, the same text would mean two places.
 * @throws TieredError `TIERED_CONFIG_INVALID` that says what to write.
 */
export function assertNoTilde(field: string, path: string): void {
  if (!isHomePath(path)) return;
  throw configError(field, HOME_PATH, path);
}

/** Whether a path is `~`, or begins with `~/`. */
export function isHomePath(path: unknown): boolean {
  return typeof path === 'string' && /^~([/\\]|$)/.test(path);
}

/** Advice for replacing such a path. */
export const HOME_PATH =
  'a path without "~", which only shells replace: "${HOME}/..." in a configuration file, path.join(os.homedir(), ...) in code';

/**
 * Refuses counts that are not whole numbers, or too small.
 * @param counts Counts by option name.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the first count that is not a whole number of at
 * least `least`.
 */
export function assertCounts(counts: Readonly<Record<string, number>>, least = 1): void {
  for (const [field, count] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < least)
      throw configError(field, `a whole number of at least ${least}`, count);
  }
}

/**
 * Refuses invalid durations.
 * @param times Milliseconds by option name; fractions are allowed.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the first one that is not more than 0, or is
 * infinite.
 */
export function assertMilliseconds(times: Readonly<Record<string, number>>): void {
  for (const [field, ms] of Object.entries(times)) {
    if (!(typeof ms === 'number' && ms > 0 && ms < Infinity))
      throw configError(field, 'milliseconds of more than 0', ms);
  }
}

/** Makes the error of an operation on a hierarchy that is closing or closed. */
export function closedError(): TieredError {
  return new TieredError('TIERED_CLOSED', 'The hierarchy is closed; make a new one to go on reading.');
}

/**
 * Makes the error of a driver that is used while it is closed. Only users without a hierarchy can make this
 * mistake.
 */
export function notOpenError(driver: string): TieredError {
  return new TieredError(
    'TIERED_NOT_OPEN',
    `${driver} is not open; await open() first and close() last, or give the driver to a hierarchy, which does both.`,
    { driver },
  );
}

/** Formats a value for messages. An object is only shown to be one. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === undefined || value === null)
    return String(value);
  return `a value of type ${typeof value}`;
}
