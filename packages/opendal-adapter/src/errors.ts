import { getSystemErrorName } from 'node:util';
import { isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import type { Operation } from '@tiered/core/driver';

interface Meaning {
  readonly code: ErrorCode;
  readonly advice: string;
  /** Default: as OpenDAL says. */
  readonly retryable?: boolean | undefined;
}

/** OpenDAL describes an error only in its message: its kind, and whether it is temporary. */
const FORM = /^(\w+) \((temporary|permanent|persistent)\) at (\S*?),? /;

const KINDS: Readonly<Record<string, Meaning>> = {
  NotFound: { code: 'TIERED_NOT_FOUND', advice: 'there is no such object' },
  IsADirectory: { code: 'TIERED_NOT_FOUND', advice: 'that is a directory' },
  NotADirectory: { code: 'TIERED_NOT_FOUND', advice: 'a file stands where a directory must be' },
  PermissionDenied: {
    code: 'TIERED_PERMISSION',
    advice: 'access is denied; check the credentials and rights',
  },
  RateLimited: { code: 'TIERED_IO', advice: 'the service asks for fewer requests; lower concurrency' },
  AlreadyExists: { code: 'TIERED_KEY_CONFLICT', advice: 'another object stands where a directory must be' },
  ConditionNotMatch: { code: 'TIERED_SOURCE_CHANGED', advice: 'it was changed since it was listed' },
  ConfigInvalid: { code: 'TIERED_CONFIG_INVALID', advice: 'OpenDAL refuses the options' },
  Unsupported: { code: 'TIERED_UNSUPPORTED', advice: 'OpenDAL or the service cannot do this' },
};

/** Meanings of statuses that OpenDAL calls unexpected, as its services do with some of these. */
const STATUSES: Readonly<Record<string, Meaning>> = {
  401: { code: 'TIERED_PERMISSION', advice: 'the service does not accept the credentials' },
  429: {
    code: 'TIERED_IO',
    advice: 'the service asks for fewer requests; lower concurrency',
    retryable: true,
  },
};

/** Meanings of the errors of the service `fs`. */
const ERRNOS: Readonly<Record<string, Meaning>> = {
  ENOTDIR: { code: 'TIERED_NOT_FOUND', advice: 'a file stands where a directory must be', retryable: false },
  EISDIR: { code: 'TIERED_NOT_FOUND', advice: 'that is a directory', retryable: false },
  ENAMETOOLONG: { code: 'TIERED_KEY_INVALID', advice: 'the name is too long', retryable: false },
  EROFS: { code: 'TIERED_READ_ONLY', advice: 'the file system is mounted read-only', retryable: false },
  ENOSPC: { code: 'TIERED_NO_SPACE', advice: 'the disk is full', retryable: false },
  EDQUOT: { code: 'TIERED_NO_SPACE', advice: "the user's disk quota is used up", retryable: false },
  EMFILE: { code: 'TIERED_TOO_MANY_OPEN', advice: 'raise ulimit -n', retryable: true },
};

/** The failed call, and secrets that the message must not show. */
export interface ErrorPlace {
  readonly driver: string;
  readonly operation: Operation;
  readonly key: string;
  /** Values of options. */
  readonly secrets: readonly string[];
}

/** Translates an error of OpenDAL. Errors of the SDK are returned unchanged. */
export function fromOpenDal(error: unknown, { driver, operation, key, secrets }: ErrorPlace): unknown {
  if (isTieredError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const outline = outlineOf(message, secrets);
  const {
    code,
    advice,
    retryable = isPassing(message),
  } = meaningOf(message) ?? {
    code: 'TIERED_IO' as const,
    advice: `OpenDAL says: ${outline}`,
  };
  const object = key === '' ? '' : ` of ${JSON.stringify(key)}`;
  return new TieredError(code, `${driver}: ${operation}${object} failed: ${advice}.`, {
    cause: new Error(outline),
    retryable,
    driver,
    operation,
    key,
  });
}

/** The kind of an error of OpenDAL. Undefined for other errors. */
export function kindOf(error: unknown): string | undefined {
  return FORM.exec((error as Error | null)?.message ?? '')?.[1];
}

/**
 * Whether a write that must not replace anything failed because there is an object. Azure has an error code
 * of its own for that.
 */
export function isTaken(error: unknown): boolean {
  const kind = kindOf(error);
  return (
    kind === 'ConditionNotMatch' ||
    kind === 'AlreadyExists' ||
    /\bcode: "BlobAlreadyExists"/.test((error as Error | null)?.message ?? '')
  );
}

/**
 * Whether a read may have failed because the range extends past the end of the object. OpenDAL has no short
 * reads. Services answer with an error of their own, the body is too short, or a thread panics if objects are
 * in memory.
 */
export function mayBePastEnd(error: unknown): boolean {
  const message = (error as Error | null)?.message ?? '';
  return /^RangeNotSatisfied |\bstatus: 416\b|got too little data$|^Panic in async function$/.test(message);
}

function meaningOf(message: string): Meaning | undefined {
  const [, kind = ''] = FORM.exec(message) ?? [];
  return KINDS[kind] ?? STATUSES[statusOf(message) ?? ''] ?? ERRNOS[errnoOf(message) ?? ''];
}

/** Errors that were retried in vain are `persistent`, and should not be retried again. */
function isPassing(message: string): boolean {
  return FORM.exec(message)?.[2] === 'temporary';
}

function statusOf(message: string): string | undefined {
  return /\bstatus: (\d{3})\b/.exec(message)?.[1];
}

function errnoOf(message: string): string | undefined {
  const [, number] = /\(os error (\d+)\)$/.exec(message) ?? [];
  return number === undefined || process.platform === 'win32'
    ? undefined
    : getSystemErrorName(-Number(number));
}

/**
 * The part of OpenDAL's message that may be shown. Its context has URIs, headers and bodies, which repeat
 * signatures and credentials. For an answer, only its status and the service's code are shown. For other
 * faults, only the end is shown, without values of options.
 */
function outlineOf(message: string, secrets: readonly string[]): string {
  const [, kind, persistence, operation = ''] = FORM.exec(message) ?? [];
  const head =
    kind === undefined ? '' : `${kind} (${persistence})${operation === '' ? '' : ` at ${operation}`}`;
  if (/:\/\/|\bresponse: /.test(message)) {
    const status = statusOf(message);
    const code = /\bcode: "(\w{1,64})"/.exec(message)?.[1];
    const parts = [head || 'a fault', status && `HTTP status ${status}`, code && `code ${code}`];
    return masked(parts.filter(Boolean).join(', '), secrets);
  }
  const tail = kind === undefined ? message : (/ => ([\s\S]*)$/.exec(message)?.[1] ?? '');
  return masked([head, tail].filter(Boolean).join(': '), secrets);
}

function masked(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
}
