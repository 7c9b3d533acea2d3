import { isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import { unavailable } from './calls.js';

/** JetStream error codes. */
const WRONG_REVISION = [10071, 10164];
const NO_SUCH_STREAM = 10059;
const OTHER_SETTINGS = 10058;
const NO_JETSTREAM = [10039, 10076];

const named = (error: unknown): string => (error instanceof Error ? error.name : '');
const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

/** Whether another process has changed a record since it was read. */
export const isWrongRevision = (error: unknown): boolean => WRONG_REVISION.includes(Number(codeOf(error)));

/** Whether another process has created the bucket at the same time, with other settings. */
export const isOtherSettings = (error: unknown): boolean => codeOf(error) === OTHER_SETTINGS;

/** Whether the bucket may be missing: a server that has lost its storage has none. */
export const isBucketGone = (error: unknown): boolean =>
  codeOf(error) === NO_SUCH_STREAM || named(error) === 'JetStreamNotEnabled';

/**
 * Converts an error of the NATS client to one of ours. It shows none of the client's options.
 * @param wasReached Whether the bucket was reached before. Servers that are starting, or have no leader, also
 * say that they have no JetStream.
 */
export function natsError(name: string, error: unknown, wasReached: boolean): Error {
  if (isTieredError(error)) return error;
  const fail = (code: ErrorCode, what: string) =>
    new TieredError(code, `${name} ${what}.`, { cause: error, retryable: false });
  const isWithout = NO_JETSTREAM.includes(Number(codeOf(error))) || named(error) === 'JetStreamNotEnabled';
  if (isWithout && !wasReached)
    return fail('TIERED_UNSUPPORTED', 'has no JetStream; start nats-server with -js');
  if (/^(Authorization|UserAuthenticationExpired)Error$/.test(named(error)))
    return fail('TIERED_PERMISSION', 'refuses the credentials; check token, user, password or credsFile');
  if (/^PermissionViolation/.test(named(error)) || /permissions violation/i.test(String(error)))
    return fail('TIERED_PERMISSION', 'does not let this user use the bucket; allow it $JS.API.> and $KV.>');
  return unavailable(name, unreachable(error), error);
}

/** Reasons why a server cannot be reached, by the code of the system or the client. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'no server listens there'],
  ['ENOTFOUND', 'the name of its host has no address'],
  ['EAI_AGAIN', 'the name of its host has no address now'],
  ['EHOSTUNREACH', 'no way leads to its host'],
  ['ENETUNREACH', 'no way leads to its host'],
  ['TimeoutError', 'it does not answer'],
]);

function unreachable(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const found = [codeOf(error), codeOf(cause ?? {}), named(error)]
    .map(String)
    .find((one) => REASONS.has(one));
  if (found === undefined) return 'cannot be reached, or cannot do it now';
  return `cannot be reached: ${REASONS.get(found)} (${found}); check its address, and that nats-server runs`;
}
