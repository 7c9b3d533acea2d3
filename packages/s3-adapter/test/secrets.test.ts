import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { isTieredError, TieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { S3Driver, S3ResponseError } from '@tiered/s3-adapter';
import type { Fault } from '@tiered/s3-server';
import { describe, expect, it, vi } from 'vitest';
import { BUCKET, answering, driverOn, place } from './helpers.js';

const SECRET = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY';
const TOKEN = 'FQoGZXIvYXdzEXAMPLETOKEN';
const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, sessionToken: TOKEN };
const PROXY_PASSWORD = 'ProxyPassword1';

/** Asserts that nothing secret, and no signature, can be seen in a value however closely one looks. */
function assertSilent(value: unknown): void {
  const views = [
    inspect(value, { depth: Infinity, showHidden: true, maxStringLength: null, maxArrayLength: null }),
    String(value),
    JSON.stringify(value),
    value instanceof Error ? (value.stack ?? '') : '',
  ];
  for (const view of views) {
    for (const secret of [SECRET, TOKEN, PROXY_PASSWORD]) expect(view).not.toContain(secret);
    expect(view).not.toMatch(/AWS4-HMAC|Signature=|\b[0-9a-f]{64}\b/i);
  }
}

async function errorsOf(driver: S3Driver): Promise<unknown[]> {
  const body = someBytes(10, 1);
  const list = async () => {
    for await (const page of driver.list({})) expect(page).toBeDefined();
  };
  const outcomes = await Promise.allSettled([
    driver.stat('object', {}),
    driver.read('object', { offset: 1, length: 10 }),
    driver.read('object', { offset: 0, length: 1000 }),
    driver.write('new', body, { size: 10 }),
    driver.write('large', new Uint8Array(11 * 2 ** 20), { size: 11 * 2 ** 20 }),
    list(),
    driver.delete('object', {}),
    driver.delete('other', {}),
  ]);
  return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
}

describe('secrets', () => {
  it('[O5] are in no error of any fault', async () => {
    const faults: readonly Fault[] = [
      { kind: 'status', status: 403, code: 'SignatureDoesNotMatch' },
      { kind: 'status', status: 403, code: 'AccessDenied' },
      { kind: 'status', status: 400, code: 'ExpiredToken' },
      { kind: 'status', status: 503, code: 'SlowDown' },
      { kind: 'status', status: 404, code: 'NoSuchBucket' },
      { kind: 'reset', afterBytes: 0 },
      { kind: 'truncate', bytes: 0 },
      { kind: 'wrongRange' },
      { kind: 'corrupt' },
      { kind: 'errorIn200' },
    ];
    for (const fault of faults) {
      const { server, driver, clock } = await place(
        { credentials: CREDENTIALS, attempts: 2, chunk: 5 * 2 ** 20 },
        { credentials: CREDENTIALS },
      );
      server.put(BUCKET, 'object', someBytes(1000, 1));
      server.faults.set([{ fault }]);
      const errors = await clock.run(errorsOf(driver));
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) {
        expect(isTieredError(error)).toBe(true);
        expect((error as Error).cause).toBeInstanceOf(S3ResponseError);
        expect((error as { attempts: number }).attempts).toBeGreaterThan(0);
        assertSilent(error);
      }
      assertSilent(driver);
    }
  });

  it('[O5] are in no error of a server that repeats in its answers what it was sent', async () => {
    const endpoint = await answering(({ headers }, response) => {
      const echo = Object.entries(headers)
        .map(([name, value]) => `${name}: ${String(value)}`)
        .join('\n');
      const fields = ['Code', 'Message', 'Region', 'RequestId', 'StringToSign', 'Token-0'];
      const xml = `<Error>${fields.map((field) => `<${field}>${echo}</${field}>`).join('')}</Error>`;
      response.writeHead(400, {
        'x-amz-bucket-region': headers.authorization ?? '',
        'content-type': 'text/xml',
      });
      response.end(xml);
    });
    const errors = await errorsOf(await driverOn(endpoint, { credentials: CREDENTIALS, writable: true }));
    expect(errors).toHaveLength(8);
    for (const error of errors) assertSilent(error);
  });

  it('[O5] are in no error of a provider of credentials, whatever it throws', async () => {
    const text = `The token service answered: secret ${SECRET}, token ${TOKEN}`;
    const thrown: readonly unknown[] = [
      Object.assign(new Error('The token service failed.'), { request: CREDENTIALS }),
      new Error(text),
      new Error('outside', { cause: new Error(text) }),
      Object.assign(new Error('named'), { name: SECRET, code: TOKEN }),
      Object.assign(new Error('named'), { name: `${SECRET}Error` }),
      new TieredError('TIERED_PERMISSION', text, { cause: new Error(text) }),
      new AggregateError([new Error(text)], text),
      text,
      { message: text, toString: () => text },
      undefined,
    ];
    for (const error of thrown) {
      const credentials = async () => {
        throw error;
      };
      const failing = await driverOn('http://127.0.0.1:1', { credentials, writable: true });
      const errors = await errorsOf(failing);
      expect(errors).toHaveLength(8);
      for (const told of errors) {
        expect(isTieredError(told, 'TIERED_PERMISSION')).toBe(true);
        assertSilent(told);
      }
    }
  });

  it('[O5] are in no error of a provider of AWS', async () => {
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', path.join(directory, 'credentials'));
    vi.stubEnv('AWS_CONFIG_FILE', path.join(directory, 'config'));
    try {
      // Says which command failed, and that has the secret in it.
      const command = `sh -c "echo ${SECRET} >&2; exit 1" ${TOKEN}`;
      await fs.writeFile(path.join(directory, 'config'), `[profile mine]\ncredential_process = ${command}\n`);
      const driver = await driverOn('http://127.0.0.1:1', { credentials: undefined, profile: 'mine' });
      const stat = driver.stat('object', {}).catch((error: unknown) => error);
      expect(await stat).toMatchObject({ code: 'TIERED_PERMISSION' });
      assertSilent(await stat);
    } finally {
      vi.unstubAllEnvs();
      await fs.rm(directory, { recursive: true });
    }
  });

  it('[O5] are in no error of a proxy that is none', async () => {
    const wrong = [
      `user:${PROXY_PASSWORD}@127.0.0.1:1`,
      `http://user:${PROXY_PASSWORD}@127.0.0.1:port`,
      `ftp://user:${PROXY_PASSWORD}@127.0.0.1:1`,
      `http://user:%${PROXY_PASSWORD}@127.0.0.1:1`,
    ];
    const openings = wrong.flatMap((text) => [
      ...['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'].map((name) => ({ name, text })),
      ...(URL.canParse(text) ? [{ name: 'proxy', text }] : []),
    ]);
    for (const { name, text } of openings) {
      if (name !== 'proxy') vi.stubEnv(name, text);
      try {
        const proxy = name === 'proxy' ? new URL(text) : 'environment';
        const driver = new S3Driver({ bucket: BUCKET, endpoint: 'http://127.0.0.1:1', proxy });
        const error = await driver.open({}).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
        expect((error as Error).message).toContain(name);
        assertSilent(error);
      } finally {
        vi.unstubAllEnvs();
      }
    }
  });

  it('are in no error of a server that is not there, or of options', async () => {
    const nowhere = await driverOn('http://127.0.0.1:1', {
      credentials: CREDENTIALS,
      attempts: 1,
      proxy: new URL(`http://user:${PROXY_PASSWORD}@127.0.0.1:1`),
    });
    for (const error of await errorsOf(nowhere)) assertSilent(error);
    assertSilent(nowhere);
    const wrong = [
      { endpoint: `http://user:${SECRET}@host` },
      { endpoint: `${SECRET} is no URL` },
      { credentials: SECRET as 'anonymous' },
      { headers: { authorization: SECRET } },
      { proxy: PROXY_PASSWORD as 'none' },
    ];
    for (const options of wrong) {
      const make = () => new S3Driver({ bucket: BUCKET, ...options });
      expect(make).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
      try {
        make();
      } catch (error) {
        assertSilent(error);
      }
    }
  });
});
