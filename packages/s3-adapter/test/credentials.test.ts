import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@tiered/core';
import { S3Driver, type S3Credentials } from '@tiered/s3-adapter';
import { describe, expect, it, vi } from 'vitest';
import { someBytes } from '@tiered/core/testing';
import { BUCKET, optionsFor, place, readAll } from './helpers.js';

const KEYS = { accessKeyId: 'TIEREDTESTINGKEY', secretAccessKey: 'tiered/testing/secret' };
const MINUTE = 60_000;
const inMinutes = (minutes: number) =>
  new Date(performance.timeOrigin + systemClock.now() + minutes * MINUTE);

describe('credentials', () => {
  it('are fetched once, however many requests ask for them, and again 5 minutes before they end', async () => {
    let fetched = 0;
    const credentials = async (): Promise<S3Credentials> => {
      fetched += 1;
      return { ...KEYS, expiration: inMinutes(60) };
    };
    const { server, driver, clock } = await place({ credentials });
    server.put(BUCKET, 'object', someBytes(100, 1));
    await Promise.all(Array.from({ length: 20 }, () => readAll(driver, 'object')));
    expect(fetched).toBe(1);
    await clock.advance(54 * MINUTE);
    await readAll(driver, 'object');
    expect(fetched).toBe(1);
    await clock.advance(2 * MINUTE);
    await Promise.all([readAll(driver, 'object'), readAll(driver, 'object')]);
    expect(fetched).toBe(2);
  });

  it('that do not come are told with what a file and what a program says instead', async () => {
    const { driver } = await place({ credentials: () => Promise.reject(new Error('secret')) });
    const error: unknown = await driver.stat('object', {}).catch((cause: unknown) => cause);
    expect(String(error)).toContain(
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. For a public bucket say',
    );
    expect(String(error)).toContain(
      '"anonymous: true" in a configuration, or credentials: "anonymous" in code',
    );
    expect(String(error)).not.toContain('secret"');
  });

  it('that the server says have expired are renewed, once, also where a HEAD cannot say why', async () => {
    for (const read of [
      (driver: S3Driver) => driver.read('object', { offset: 0, length: 10 }),
      (driver: S3Driver) => driver.stat('object', {}),
    ]) {
      let fetched = 0;
      const credentials = async () => ({ ...KEYS, sessionToken: `token-${++fetched}` });
      const { server, driver } = await place({ credentials });
      server.put(BUCKET, 'object', someBytes(100, 1));
      server.credentials = { ...KEYS, sessionToken: 'token-1' };
      await read(driver);
      const expired = { kind: 'status', status: 400, code: 'ExpiredToken' } as const;
      server.faults.set([{ times: 1, fault: expired }]);
      // The fault befalls a request that was let in; the repeated one must come with the next token.
      const rotated = { ...KEYS, sessionToken: 'token-2' };
      const reading = read(driver);
      while (fetched < 2) await systemClock.turn();
      server.credentials = rotated;
      await reading;
      expect(fetched).toBe(2);
      server.faults.set([{ fault: expired }]);
      await expect(read(driver)).rejects.toMatchObject({ attempts: 1 });
    }
  });

  it('that cannot be had are a typed error, and are asked for again by the next request', async () => {
    let fails = true;
    const credentials = async () => {
      if (fails) throw new Error('The session has ended. Run aws sso login.');
      return KEYS;
    };
    const { server, driver } = await place({ credentials });
    server.put(BUCKET, 'object', someBytes(100, 1));
    await expect(readAll(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
    fails = false;
    expect(await readAll(driver, 'object')).toHaveLength(100);
  });

  it('[O4] that do not come are waited for up to the deadline, and asked for anew by the next request', async () => {
    let hangs = true;
    const credentials = () =>
      hangs ? new Promise<never>(() => undefined) : Promise.resolve<S3Credentials>(KEYS);
    const { server, driver, clock } = await place({ credentials, deadlineMs: 30_000 });
    server.put(BUCKET, 'object', someBytes(100, 1));
    await expect(clock.run(readAll(driver, 'object'))).rejects.toMatchObject({
      code: 'TIERED_DEADLINE',
      cause: { code: 'CredentialsTimeout' },
    });
    expect(clock.now()).toBe(30_000);
    hangs = false;
    expect(await readAll(driver, 'object')).toHaveLength(100);
    expect(clock.sleeping).toBe(0);
  });

  it('that are kept serve until they end, while nobody gets others', async () => {
    let fetched = 0;
    const credentials = () =>
      fetched++ === 0
        ? Promise.resolve<S3Credentials>({ ...KEYS, expiration: inMinutes(10) })
        : new Promise<never>(() => undefined);
    const { server, driver, clock } = await place({ credentials });
    server.put(BUCKET, 'object', someBytes(100, 1));
    for (const minutes of [0, 6, 3]) {
      await clock.advance(minutes * MINUTE);
      expect(await readAll(driver, 'object')).toHaveLength(100);
    }
    expect(fetched, 'one that did not come is forgotten').toBe(3);
    await clock.advance(2 * MINUTE);
    await expect(clock.run(readAll(driver, 'object'))).rejects.toMatchObject({ code: 'TIERED_DEADLINE' });
  });

  it('that are kept are renewed though their provider has hung once', async () => {
    let fetched = 0;
    const credentials = () =>
      ++fetched === 2
        ? new Promise<never>(() => undefined)
        : Promise.resolve<S3Credentials>({ ...KEYS, expiration: inMinutes(10 * fetched) });
    const { server, driver, clock } = await place({ credentials });
    server.put(BUCKET, 'object', someBytes(100, 1));
    for (const minutes of [0, 6, 3, 3]) {
      await clock.advance(minutes * MINUTE);
      expect(await readAll(driver, 'object')).toHaveLength(100);
    }
    expect(fetched).toBe(3);
  });

  it('come from the environment if there are no others', async () => {
    const { server } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    vi.stubEnv('AWS_ACCESS_KEY_ID', KEYS.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', KEYS.secretAccessKey);
    vi.stubEnv('AWS_ENDPOINT_URL', server.endpoint);
    vi.stubEnv('AWS_REGION', server.region);
    try {
      const driver = new S3Driver({ bucket: BUCKET, proxy: 'none' });
      await driver.open({});
      expect(await readAll(driver, 'object')).toHaveLength(100);
      await driver.close();
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('come from a profile if one is named', async () => {
    const { server } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    const file = path.join(directory, 'credentials');
    const { accessKeyId, secretAccessKey } = KEYS;
    await fs.writeFile(
      file,
      `[mine]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`,
    );
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file);
    vi.stubEnv('AWS_CONFIG_FILE', path.join(directory, 'config'));
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
    try {
      const driver = new S3Driver({ ...optionsFor(server), credentials: undefined, profile: 'mine' });
      await driver.open({});
      expect(await readAll(driver, 'object')).toHaveLength(100);
      await driver.close();
    } finally {
      vi.unstubAllEnvs();
      await fs.rm(directory, { recursive: true });
    }
  });

  it('are needed for buckets that are not public', async () => {
    const { server, driver } = await place({ credentials: 'anonymous' });
    await expect(readAll(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
    server.createBucket(BUCKET, { public: true });
    server.put(BUCKET, 'object', someBytes(100, 1));
    expect(await readAll(driver, 'object')).toHaveLength(100);
  });

  it('that are wrong are refused at once', async () => {
    for (const credentials of [
      { ...KEYS, secretAccessKey: 'wrong' },
      { ...KEYS, accessKeyId: 'WRONG' },
    ]) {
      const { server, driver } = await place({ credentials });
      await expect(driver.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
      await expect(readAll(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
      expect(server.requests.refused).toBe(2);
    }
  });
});

describe('a clock that differs from the server’s', () => {
  it('is corrected once, by GET and by HEAD', async () => {
    for (const clockSkewMs of [-3 * 60 * MINUTE, 3 * 60 * MINUTE]) {
      for (const isHead of [false, true]) {
        const { server, driver } = await place({}, { clockSkewMs });
        server.put(BUCKET, 'object', someBytes(100, 1));
        if (isHead) await driver.stat('object', {});
        expect(await readAll(driver, 'object')).toHaveLength(100);
        expect(await readAll(driver, 'object')).toHaveLength(100);
        expect(server.requests.refused).toBe(1);
      }
    }
  });
});

describe('requests', () => {
  it('are paid for by the one who asks, if told so', async () => {
    const { server, driver } = await place({}, { requesterPays: true });
    server.put(BUCKET, 'object', someBytes(100, 1));
    await expect(readAll(driver, 'object')).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
    const paying = new S3Driver({ ...optionsFor(server), requesterPays: true });
    await paying.open({});
    expect(await readAll(paying, 'object')).toHaveLength(100);
    await paying.close();
  });
});
