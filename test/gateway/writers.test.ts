import { Hierarchy, MemoryDriver } from '@tiered/core';
import { Gateway, type GatewayBucket } from '@tiered/gateway';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { PlacementHandler } from '@tiered/tiering';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { installOf, pythonOf } from '../../tools/frameworks/environments.js';
import { objectsOf } from './objects.js';
import { runScript, SCRIPTS } from './run-script.js';

const BUCKET = 'data';
const python = pythonOf('clients');

/** As the README has it. */
const CHANGING = ['**/_versions/*'];

async function served(what: Pick<GatewayBucket, 'changing'> & { readonly written?: readonly string[] }) {
  if (python === undefined) throw new Error(`It is not installed: ${installOf('clients')}`);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-changing-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const tables = path.join(directory, 'tables');
  await mkdir(tables);
  await promisify(execFile)(python, [path.join(SCRIPTS, 'make.py'), tables]);
  const server = await S3Server.start();
  onTestFinished(() => server.close());
  server.createBucket(BUCKET);
  for (const [key, bytes] of await objectsOf(tables)) server.put(BUCKET, key, bytes);
  const { endpoint, credentials } = server;
  const hierarchy = new Hierarchy({
    source: new S3Driver({ bucket: BUCKET, endpoint, credentials, proxy: 'none' }),
    tiers: [{ driver: new MemoryDriver(), quota: '64MiB' }],
    placement: new PlacementHandler(),
  });
  onTestFinished(() => hierarchy.close());
  await hierarchy.open();
  const { changing, written } = what;
  const writing = new S3Driver({ bucket: BUCKET, endpoint, credentials, proxy: 'none', writable: true });
  const writes = written && { driver: writing, prefixes: written };
  const gateway = await Gateway.start({
    buckets: { [BUCKET]: { hierarchy, changing, writes } },
    credentials,
  });
  onTestFinished(() => gateway.close());
  return { server, gateway, directory };
}

it.skipIf(python === undefined && process.env['CI'] !== 'true')(
  `[X5] LanceDB sees what a writer has just added at the source (needs ${installOf('clients')})`,
  async () => {
    const { server, gateway, directory } = await served({ changing: CHANGING });
    const script = { script: 'append_lancedb.py', environment: 'clients' } as const;
    const env = { SOURCE_ENDPOINT: server.endpoint };
    expect(await runScript(script, { endpoint: gateway.endpoint, server, directory, env })).toEqual({
      before: 100_000,
      once: [100_001, 100_001, [100_000]],
      twice: [100_003, 100_003, [100_000, 100_001, 100_002]],
      replaced: 1,
      created: 1,
      dropped: 'ValueError',
    });
  },
);

it.skipIf(python === undefined && process.env['CI'] !== 'true')(
  `[X7] boto3 and the aws command line write below a prefix, and read it again (needs ${installOf('clients')})`,
  async () => {
    const { server, gateway, directory } = await served({ written: ['checkpoints/'] });
    const script = { script: 'write_boto3.py', environment: 'clients' } as const;
    expect(await runScript(script, { endpoint: gateway.endpoint, server, directory })).toEqual({
      small: ['small', ['checkpoints/small']],
      large: [true, ['checkpoints/large', 'checkpoints/small']],
      replaced: 'other',
      copied: true,
      removed: [],
      outside: expect.stringMatching(/^AccessDenied: .*writes only below checkpoints\//),
    });
    expect([server.openUploads, server.requests.UploadPart > 4]).toEqual([0, true]);
  },
);
