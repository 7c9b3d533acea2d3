import { nkeys } from '@nats-io/transport-node';

type KeyPair = ReturnType<typeof nkeys.createAccount>;

const ALL = -1;
/** What an account may have, without an end; and what it may keep, which is not for that of the system. */
const LIMITS = { subs: ALL, data: ALL, payload: ALL, conn: ALL, leaf: ALL, imports: ALL, exports: ALL };
const STORAGE = { mem_storage: ALL, disk_storage: ALL, streams: ALL, consumer: ALL };

/** Credentials as `nsc` makes them. */
export interface Credentials {
  /** What a server that asks for them has in its configuration. */
  readonly config: string;
  /** The text of a file of credentials of a user that it lets in, and of one that it does not know. */
  readonly known: string;
  readonly unknown: string;
}

/** Makes an operator with an account and a user of it, and a user of another operator. */
export function newCredentials(): Credentials {
  const { config, user } = newOperator();
  return { config, known: user, unknown: newOperator().user };
}

function newOperator(): { readonly config: string; readonly user: string } {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const idOf = (pair: KeyPair) => pair.getPublicKey();
  const systemToken = token(operator, idOf(system), { type: 'account', limits: LIMITS });
  const accountToken = token(operator, idOf(account), { type: 'account', limits: { ...LIMITS, ...STORAGE } });
  const operatorToken = token(operator, idOf(operator), { type: 'operator', system_account: idOf(system) });
  const user = nkeys.createUser();
  const userToken = token(account, idOf(user), { type: 'user', subs: ALL, data: ALL, payload: ALL });
  const seed = new TextDecoder().decode(user.getSeed());
  return {
    config: `
      operator: ${operatorToken}
      resolver: MEMORY
      resolver_preload: { ${idOf(system)}: ${systemToken}, ${idOf(account)}: ${accountToken} }`,
    user: [
      `-----BEGIN NATS USER JWT-----\n${userToken}\n------END NATS USER JWT------\n`,
      `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
    ].join('\n'),
  };
}

/** A token of NATS: what an issuer says of a subject, with its signature. */
function token(issuer: KeyPair, subject: string, nats: object): string {
  const claims = { jti: subject, iat: 1, iss: issuer.getPublicKey(), name: 'test', sub: subject };
  const parts = [
    { typ: 'JWT', alg: 'ed25519-nkey' },
    { ...claims, nats: { ...nats, version: 2 } },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = issuer.sign(new TextEncoder().encode(text));
  return `${text}.${Buffer.from(signature).toString('base64url')}`;
}
