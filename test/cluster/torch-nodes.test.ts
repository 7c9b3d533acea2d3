import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeShim, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { debianWith, INSTALL } from '../../tools/frameworks/environments.js';
import { tieredIn, type Running } from '../interpose/tiered.js';

const SCRIPT = path.resolve('test/interpose/frameworks/distributed.py');
const NODES = 2;
const SEED = 5;
const EPOCHS = 3;
const KEYS = Array.from({ length: 64 }, (_, i) => `d${i % 4}/image ${100 + i}`);
const BYTES = 20_000;
const bytesOf = (i: number) => someBytes(BYTES, i);
const LINES = new Set(
  KEYS.map((key, i) => `${key} ${createHash('sha256').update(bytesOf(i)).digest('hex')}`),
);

/** Together they have room for all objects, and none of them has. */
const QUOTA = 60 * 20_480;

const python = debianWith('torchvision');

interface Source {
  readonly what: string;
  /** Makes it, and tells how a configuration names it, and how often it was asked for an object. */
  readonly make: (
    above: string,
  ) => Promise<{ readonly config: object; readonly env?: NodeJS.ProcessEnv; readonly asked?: () => number }>;
}

const SOURCES: readonly Source[] = [
  {
    what: 'a directory',
    make: async (above) => {
      const root = path.join(above, 'source');
      for (const [i, key] of KEYS.entries()) {
        fs.mkdirSync(path.dirname(path.join(root, key)), { recursive: true });
        fs.writeFileSync(path.join(root, key), bytesOf(i));
      }
      return { config: { driver: 'fs', root } };
    },
  },
  {
    what: 'a bucket',
    make: async () => {
      const server = await S3Server.start();
      onTestFinished(() => server.close());
      server.createBucket('data');
      for (const [i, key] of KEYS.entries()) server.put('data', key, bytesOf(i));
      const { endpoint, region, credentials } = server;
      return {
        config: { driver: 's3', bucket: 'data', endpoint, region, proxy: 'none' },
        env: {
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
        },
        asked: () => server.requests.GetObject,
      };
    },
  },
];

/** A node: PyTorch as it is under `tiered run`, with a tier of its own. */
function node(rank: number, above: string, config: string, others: NodeJS.ProcessEnv = {}): Running {
  const env = {
    ...others,
    RANK: String(rank),
    TIER: path.join(above, `tier-${rank}`),
    TIERED_TOKEN: 'a secret of sixteen or more',
  };
  const program = [SCRIPT, '"$TIERED_ROOT"', rank, NODES, SEED, EPOCHS].join(' ');
  return tieredIn(
    env,
    'run',
    '--config',
    config,
    '--json',
    '--',
    'sh',
    '-c',
    `exec ${python ?? ''} ${program}`,
  );
}

describeShim('PyTorch on two nodes, as it is', () => {
  it.skipIf(python === undefined && process.env['CI'] !== 'true').each(SOURCES)(
    `[Z3] has $what give each object once, to both, by plan (needs ${INSTALL})`,
    async ({ make }) => {
      expect(python, INSTALL).toBeDefined();
      const above = temporaryDirectory();
      const { config: source, env, asked } = await make(above);
      const config = path.join(above, 'tiers.json');
      const cluster = {
        name: 'training',
        registry: { sqlite: path.join(above, 'registry', 'training.db') },
        rank: '${RANK}',
        size: NODES,
        token: '${TIERED_TOKEN}',
        // On a machine that is busy, an answer may take long; a second request would be counted.
        deadlineMs: 600_000,
        plan: { sampler: 'torch', seed: SEED, epochs: EPOCHS },
      };
      const tiers = [{ driver: 'fs', root: '${TIER}', quota: QUOTA }];
      const placement = { policy: 'planFollower', chunk: '64KiB' };
      fs.writeFileSync(config, JSON.stringify({ source, tiers, placement, cluster }));
      const nodes = Array.from({ length: NODES }, (_, rank) => node(rank, above, config, env));
      for (let epoch = 0; epoch < EPOCHS; epoch++) {
        for (const { process: child } of nodes) child.stdin?.write('\n');
        await Promise.all(nodes.map((one) => ends(one, epoch)));
        if (asked !== undefined) expect(asked()).toBe(KEYS.length);
      }
      expect(await Promise.all(nodes.map(({ ended }) => ended))).toEqual([0, 0]);
      const lines = nodes
        .flatMap(({ out }) => out().trim().split('\n'))
        .filter((line) => !line.startsWith('end'));
      expect(lines).toHaveLength(EPOCHS * KEYS.length);
      expect(new Set(lines)).toEqual(LINES);
      const levels = nodes.map(({ messages }) => levelsIn(messages()));
      expect(levels.reduce((sum, { source: { readBytes } }) => sum + readBytes, 0)).toBe(KEYS.length * BYTES);
      for (const { peers } of levels) expect(peers.readBytes).toBeGreaterThan(0);
      expect(nodes.map(({ messages }) => messages()).join()).not.toContain('sixteen');
    },
  );
});

/** Resolves when a node has read an epoch. */
async function ends({ says, ended, messages }: Running, epoch: number): Promise<void> {
  const died = ended.then(() => {
    if (epoch < EPOCHS - 1) throw new Error(messages());
  });
  await Promise.race([says(`end ${epoch}\n`), died]);
}

interface Levels {
  readonly source: { readonly readBytes: number };
  readonly peers: { readonly readBytes: number };
}

/** The summary is the last line. */
function levelsIn(messages: string): Levels {
  const { hierarchy } = JSON.parse(messages.trim().split('\n').at(-1) ?? '') as {
    readonly hierarchy: Levels;
  };
  return hierarchy;
}
