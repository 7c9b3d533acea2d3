import { ErrorReply } from 'redis';
import type { ErrorCode } from '@tiered/core';

/** The meaning of a failure. */
export interface Meaning {
  readonly code: ErrorCode;
  readonly advice: string;
  readonly retryable: boolean;
}

/** The server did not answer in time. */
export class LateError extends Error {}

/** A server replied with an error that none of our commands can cause, such as that it is no master. */
export class WrongServerError extends Error {}

const refused = (advice: string): Meaning => ({ code: 'TIERED_PERMISSION', advice, retryable: false });
const wrong = (advice: string): Meaning => ({ code: 'TIERED_CONFIG_INVALID', advice, retryable: false });
const down = (advice: string): Meaning => ({ code: 'TIERED_UNAVAILABLE', advice, retryable: true });

const NO_CLUSTER = wrong('the server belongs to a cluster; name its servers in cluster.nodes');

/** Meanings by the first word of the server's error. */
const REPLIES: Readonly<Record<string, Meaning>> = {
  WRONGPASS: refused('user or password are wrong, or the user is off'),
  NOAUTH: refused('the server wants a password'),
  NOPERM: refused('the user may not use this command or these keys; the README has the rights that it needs'),
  OOM: {
    code: 'TIERED_NO_SPACE',
    advice:
      'the memory of the server is full; raise maxmemory, or let it evict with maxmemory-policy allkeys-lru',
    retryable: false,
  },
  READONLY: down('the server is a replica, which takes no writes; name the master, or use Sentinel'),
  LOADING: down('the server is still loading its data'),
  CLUSTERDOWN: down('the cluster has no server for this key; look at CLUSTER INFO'),
  MASTERDOWN: down('the server is a replica that has lost its master'),
  TRYAGAIN: down('the key is being moved to another server'),
  BUSY: down('the server runs a long script'),
  MISCONF: down('the server takes no writes, because it cannot save to its disk'),
  NOREPLICAS: down('the server takes no writes, because it has too few replicas'),
  UNKILLABLE: down('the server runs a long script'),
  MOVED: NO_CLUSTER,
  ASK: NO_CLUSTER,
  NOPROTO: {
    code: 'TIERED_UNSUPPORTED',
    advice: 'the server is too old; Redis 7 or Valkey is needed',
    retryable: false,
  },
  WRONGTYPE: {
    code: 'TIERED_DATA_CORRUPT',
    advice: 'the key holds something else; use a prefix of its own',
    retryable: false,
  },
};

/** Meanings by the server's text after `ERR`. */
const ERRORS: readonly (readonly [RegExp, Meaning])[] = [
  [/max number of clients/, down('the server has as many clients as it takes; raise maxclients')],
  [/cluster support disabled/, wrong('the server is no cluster; use url in place of cluster')],
  [/DB index|SELECT is not allowed/, wrong('the server has no database of this number')],
  [/AUTH|invalid password/, refused('user or password are wrong')],
  [
    /unknown command/,
    {
      code: 'TIERED_UNSUPPORTED',
      advice: 'the server lacks a command; Redis 7 or Valkey is needed',
      retryable: false,
    },
  ],
];

/** Node's error codes for certificates or protocols that do not match. */
const TLS = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_|EPROTO)/;

/** Returns the meaning of a failure of a command or a connection. */
export function meaningOf(error: unknown): Meaning {
  if (error instanceof ErrorReply) {
    const [word = ''] = error.message.split(' ');
    const found = REPLIES[word] ?? ERRORS.find(([text]) => text.test(error.message))?.[1];
    return found ?? { code: 'TIERED_IO', advice: 'the server refused the command', retryable: false };
  }
  if (error instanceof LateError)
    return down('the server did not answer in time; look whether it is alive, or raise timeoutMs');
  if (error instanceof WrongServerError) return down(error.message);
  if (TLS.test(codeOf(error)))
    return { ...down('TLS failed; look at the options tls and url (rediss://)'), retryable: false };
  return down('the server cannot be reached, or the connection was lost; look whether it runs');
}

/** The code of an error: the server's, the system's, or the name of the error. */
export function codeOf(error: unknown): string {
  if (error instanceof ErrorReply) return error.message.split(' ')[0] ?? '';
  const { code, name = 'Error' } = (error ?? {}) as { readonly code?: unknown; readonly name?: string };
  return typeof code === 'string' ? code : name;
}

/** A command that failed, or that could not be sent; `cause` says why. */
export class Failure extends Error {
  constructor(cause: unknown) {
    super('a command of Redis failed', { cause });
  }
}

/** Whether the server has refused the command, so that it did nothing. */
export function isRefusal({ cause }: Failure): boolean {
  return cause instanceof ErrorReply;
}
