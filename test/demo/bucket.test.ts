import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openBucket } from '../../examples/mnist/bucket.js';
import type { Dataset } from '../../examples/mnist/dataset.js';
import { DemoError } from '../../examples/mnist/errors.js';
import { Progress } from '../../examples/mnist/progress.js';

const BUCKET = 'sets';
const WHERE = 'mine/mnist-20-v1/';
const { signal } = new AbortController();

/** A server with a bucket, whose credentials are in the environment. */
async function serverWithBucket(): Promise<S3Server> {
  const server = await S3Server.start();
  onTestFinished(() => server.close());
  server.createBucket(BUCKET);
  const { accessKeyId, secretAccessKey } = server.credentials;
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
  vi.stubEnv('NO_PROXY', '127.0.0.1');
  onTestFinished(() => void vi.unstubAllEnvs());
  return server;
}

/** Ten shards that look like a dataset from outside. */
async function someDataset(): Promise<Dataset> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const files: Record<string, number> = {};
  for (let i = 0; i < 10; i++) {
    await writeFile(path.join(directory, `shard-${i}`), someBytes(100 + i, i));
    files[`shard-${i}`] = 100 + i;
  }
  return { directory, files, shards: 10, samples: 20, bytes: 1045 };
}

const choiceOf = ({ endpoint }: S3Server, bucket = BUCKET) =>
  ({ kind: 'bucket', bucket, prefix: 'mine/', endpoint }) as const;

describe('a bucket as the source of the demo', () => {
  it('is given the shards that it does not have in their size, and no others', async () => {
    const server = await serverWithBucket();
    const dataset = await someDataset();
    server.put(BUCKET, 'mine/other', someBytes(1, 1));
    server.put(BUCKET, `${WHERE}shard-1`, someBytes(101, 1));
    server.put(BUCKET, `${WHERE}shard-2`, someBytes(50, 2));
    for (let run = 0; run < 2; run++) {
      const source = await openBucket(choiceOf(server), dataset, new Progress(), signal);
      expect(source.about).toContain(`${server.endpoint}/${BUCKET}/${WHERE}`);
      expect(server.requests.PutObject).toBe(9);
      await source.close();
    }
    for (let i = 0; i < 10; i++) {
      const uploaded = server.get(BUCKET, `${WHERE}shard-${i}`) ?? Buffer.alloc(0);
      expect(Buffer.compare(uploaded, someBytes(100 + i, i))).toBe(0);
    }
    expect(server.keys(BUCKET)).toHaveLength(11);
  });

  it('is read through drivers that cannot write', async () => {
    const server = await serverWithBucket();
    const source = await openBucket(choiceOf(server), await someDataset(), new Progress(), signal);
    const driver = source.connect();
    await driver.open({});
    expect(await driver.read('shard-3', { offset: 0, length: 1000 })).toEqual(someBytes(103, 3));
    await expect(driver.delete('shard-3', {})).rejects.toMatchObject({ code: 'TIERED_UNSUPPORTED' });
    await driver.close();
    await source.close();
  });

  it('is left alone if something else is where the dataset belongs', async () => {
    const server = await serverWithBucket();
    server.put(BUCKET, `${WHERE}thesis.doc`, someBytes(1, 1));
    const opening = openBucket(choiceOf(server), await someDataset(), new Progress(), signal);
    await expect(opening).rejects.toThrow(DemoError);
    expect(server.requests.PutObject).toBe(0);
  });

  it('that cannot be used is an error that says so', async () => {
    const server = await serverWithBucket();
    const dataset = await someDataset();
    const cannot = async (choice: Parameters<typeof openBucket>[0], code: string) => {
      const error: unknown = await openBucket(choice, dataset, new Progress(), signal).catch(
        (caught: unknown) => caught,
      );
      expect(error).toBeInstanceOf(DemoError);
      expect(error).toMatchObject({ cause: { code } });
    };
    await cannot(choiceOf(server, 'none'), 'TIERED_UNAVAILABLE');
    await cannot({ ...choiceOf(server), endpoint: 'nonsense' }, 'TIERED_CONFIG_INVALID');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another');
    await cannot(choiceOf(server), 'TIERED_PERMISSION');
  });

  it('that is not there ends the program with exit code 1 and no stack', async () => {
    const server = await serverWithBucket();
    const main = path.join(import.meta.dirname, '../../examples/mnist/main.ts');
    const args = ['--quick', '--source', 's3://none', '--endpoint', server.endpoint];
    const child = spawn(process.execPath, ['--conditions=tiered-source', '--import', 'tsx', main, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [errors, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(exitCode).toBe(1);
    expect(errors).toContain('TIERED_UNAVAILABLE');
    expect(errors).not.toMatch(/^ +at /m);
  });
});
