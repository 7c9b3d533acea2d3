import { NatsRegistry, type NatsRegistryOptions } from '@tiered/cluster/nats';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { entryOf } from '../../packages/cluster/test/registry/suite.js';
import { CERTIFICATE, KEY } from './certificate.js';
import { newCredentials } from './nats-credentials.js';
import { describeNats, ownServer, registryOf } from './nats-servers.js';

const name = 'training';

/** Files that go with the test, by their names; returns their paths. */
function files<T extends Readonly<Record<string, string>>>(texts: T): { readonly [K in keyof T]: string } {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'nats-files-'));
  onTestFinished(() => fs.rmSync(directory, { recursive: true }));
  const paths = Object.entries(texts).map(([file, text]) => {
    const where = path.join(directory, file);
    fs.writeFileSync(where, text, { mode: 0o600 });
    return [file, where];
  });
  return Object.fromEntries(paths) as { readonly [K in keyof T]: string };
}

async function expectAllowed(options: NatsRegistryOptions): Promise<void> {
  const registry = registryOf(options);
  await registry.open();
  expect(await registry.put(entryOf('rank-0', 'a'), { ttlMs: 10_000 })).toBe(true);
  expect(await registry.all()).toEqual([entryOf('rank-0', 'a')]);
}

/** No message shows a secret, nor does any error that it has as a cause. */
async function expectRefused(options: NatsRegistryOptions, expected: object): Promise<void> {
  const registry = registryOf(options);
  const error: unknown = await registry.open().catch((reason: unknown) => reason);
  expect(error).toMatchObject(expected);
  expect(inspect([error, registry.name], { depth: 10, showHidden: true })).not.toMatch(/secret|NKEY|eyJ/);
}

const DENIED = { code: 'TIERED_PERMISSION', retryable: false };

describeNats((program) => {
  it.each([
    ['a token', ['--auth', 'right-secret'], { token: 'right-secret' }, { token: 'wrong-secret' }],
    [
      'a password',
      ['--user', 'me', '--pass', 'right-secret'],
      { user: 'me', password: 'right-secret' },
      { user: 'me', password: 'wrong-secret' },
    ],
  ])('[Y4] asks for %s, which no message shows', async (_, args, right, wrong) => {
    const server = await ownServer(program, args);
    await expectAllowed({ servers: server.url, name, ...right });
    for (const way of [wrong, {}]) await expectRefused({ servers: server.url, name, ...way }, DENIED);
  });

  it('[Y4] asks for credentials, which no message shows', async () => {
    const { config, known, unknown } = newCredentials();
    const { conf, right, wrong } = files({ conf: config, right: known, wrong: unknown });
    const server = await ownServer(program, ['-c', conf]);
    await expectAllowed({ servers: server.url, name, credsFile: right });
    await expectRefused({ servers: server.url, name, credsFile: wrong }, DENIED);
    await expectRefused({ servers: server.url, name }, DENIED);
  });

  it('shows its certificate, and asks for that of the client', async () => {
    const { cert, key } = files({ cert: CERTIFICATE, key: KEY });
    const asked = ['--tlsverify', '--tlscert', cert, '--tlskey', key, '--tlscacert', cert];
    const server = await ownServer(program, asked);
    const servers = `tls://localhost:${server.port}`;
    const tls = { caFile: cert, certFile: cert, keyFile: key };
    await expectAllowed({ servers, name, tls });
    // Nobody has signed the certificate that this one trusts.
    await expectRefused({ servers, name, tls: {} }, { code: 'TIERED_UNAVAILABLE' });
    await expectRefused({ servers, name, tls: { caFile: cert } }, { code: 'TIERED_UNAVAILABLE' });
  });

  it('says what a user may not', async () => {
    const config = `
      authorization: { users: [
        { user: me, password: right-secret, permissions: { publish: "other.>", subscribe: ">" } } ] }`;
    const { conf } = files({ conf: config });
    const server = await ownServer(program, ['-c', conf]);
    await expectRefused({ servers: server.url, name, user: 'me', password: 'right-secret' }, DENIED);
  });
});

describe('the options of a registry on NATS', () => {
  const servers = 'nats://127.0.0.1:4222';

  it.each([
    [{ servers: [], name }],
    [{ servers: 'nats://me:top-secret@host:4222', name }],
    [{ servers: 'http://host', name }],
    [{ servers, name: 'a.b' }],
    [{ servers, name, ttlMs: 999 }],
    [{ servers, name, replicas: 6 }],
    [{ servers, name, token: 'top-secret', user: 'me', password: 'top-secret' }],
    [{ servers, name, user: 'me' }],
    [{ servers, name, password: 'top-secret' }],
  ])('are refused before anybody is asked: %#', (options) => {
    let error: unknown;
    try {
      new NatsRegistry(options);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    expect(inspect(error)).not.toContain('top-secret');
  });

  it('[Y4] name files of credentials that are there, and that are such files', async () => {
    const invalid = { code: 'TIERED_CONFIG_INVALID' };
    const { file } = files({ file: 'top-secret' });
    await expectRefused({ servers, name, credsFile: file }, invalid);
    await expectRefused({ servers, name, credsFile: `${file}.none` }, invalid);
  });
});
