import { Hierarchy, MemoryDriver } from '@tiered/core';
import { Gateway } from '@tiered/gateway';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { PlacementHandler } from '@tiered/tiering';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { installOf, pythonOf } from '../../tools/frameworks/environments.js';
import { CLIENTS, type Client } from './clients.js';
import { expectedOf, objectsOf } from './objects.js';
import { runScript, SCRIPTS } from './run-script.js';

const BUCKET = 'data';

let directory: string;
let objects: ReadonlyMap<string, Uint8Array>;

beforeAll(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-clients-'));
  const python = pythonOf('clients');
  if (python === undefined) return;
  const tables = path.join(directory, 'tables');
  await mkdir(tables);
  await promisify(execFile)(python, [path.join(SCRIPTS, 'make.py'), tables]);
  objects = await objectsOf(tables);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const tried = CLIENTS.filter(
  ({ environment, program }) =>
    (environment === 'clients' || inject('nightly')) &&
    (program === undefined || process.env[program] !== undefined),
);

describe.each(tried)('$name', (client) => {
  const missing = [client.environment, 'clients'].find((name) => pythonOf(name) === undefined);
  it.skipIf(missing !== undefined && process.env['CI'] !== 'true')(
    `[X1] reads the same through the gateway, first from the source and then from a tier (needs ${installOf('clients')})`,
    async () => {
      if (missing !== undefined) throw new Error(`It is not installed: ${installOf(missing)}`);
      const source = await startSource();
      const hierarchy = await hierarchyOn(source);
      const gateway = await gatewayOn(hierarchy, source);

      const run = (endpoint: string) => runScript(client, { endpoint, server: source, directory });

      const first = await run(gateway.endpoint);
      const wanted = { ...wantedOf(first), ...refusalsOf(client) };
      expect(first).toEqual(wanted);
      await hierarchy.idle();
      const { GetObject } = source.requests;
      // What clients know of a bucket or an object, they forget with their process.
      expect(await run(gateway.endpoint)).toEqual(wanted);
      // It is asked for missing keys only.
      expect(source.requests).toMatchObject({ GetObject, ListObjectsV2: 1 });

      const direct = await run(source.endpoint);
      expect(Object.keys(direct)).toEqual(Object.keys(first));
      expect(direct).toMatchObject(wantedOf(first));
    },
  );
});

/** What the ways of a script have to give that do not fail. */
function wantedOf(got: object): object {
  const all = expectedOf(objects);
  const ways = Object.keys(got).filter((way) => !REFUSALS.includes(way as keyof Client));
  return Object.fromEntries(ways.map((way) => [way, all[way]]));
}

const REFUSALS: readonly (keyof Client)[] = ['missing', 'write', 'delete'];

function refusalsOf(client: Client): object {
  const told = REFUSALS.map((way) => [way, client[way]] as const);
  return Object.fromEntries(
    told
      .filter(([, text]) => text !== undefined)
      .map(([way, text]) => [way, expect.stringMatching(text ?? '')]),
  );
}

async function startSource(): Promise<S3Server> {
  const source = await S3Server.start();
  onTestFinished(() => source.close());
  source.createBucket(BUCKET);
  for (const [key, bytes] of objects) source.put(BUCKET, key, bytes);
  return source;
}

async function hierarchyOn({ endpoint, credentials }: S3Server): Promise<Hierarchy> {
  const hierarchy = new Hierarchy({
    source: new S3Driver({ bucket: BUCKET, endpoint, credentials, proxy: 'none' }),
    tiers: [{ driver: new MemoryDriver(), quota: '64MiB' }],
    placement: new PlacementHandler(),
  });
  onTestFinished(() => hierarchy.close());
  return hierarchy.open();
}

async function gatewayOn(hierarchy: Hierarchy, { credentials }: S3Server): Promise<Gateway> {
  const gateway = await Gateway.start({ buckets: { [BUCKET]: { hierarchy } }, credentials });
  onTestFinished(() => gateway.close());
  return gateway;
}
