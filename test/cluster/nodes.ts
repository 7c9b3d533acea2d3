import { someBytes } from '@tiered/core/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { SlowMount } from '../../tools/fuse/slow-mount.js';
import { programOf } from '../processes/program.js';
import { Network } from '../../tools/servers/network.js';
import { ClusterNode, type NodeRegistry } from './node.js';

export const OBJECTS = 120;
const BYTES = 20_000;
/** All of the dataset. */
export const DATA = OBJECTS * BYTES;
export const NODES = 4;

/** What nodes of a test may have otherwise. */
interface NodesOptions {
  readonly ttlMs?: number;
  readonly deadlineMs?: number;
  /** Starts the registry. Default: a file. */
  readonly registryOn?: (network: Network) => Promise<NodeRegistry>;
}

/** Nodes of one test, and what they share. */
interface Nodes {
  /** The source, which counts what it gives. */
  readonly mount: SlowMount;
  readonly network: Network;
  readonly ranks: ClusterNode[];
  /** The file of the registry, if it is one. */
  readonly file: string;
  /** Starts another node. */
  readonly start: (rank: number, tier?: string) => Promise<ClusterNode>;
}

/** Starts nodes on machines of their own, which know each other. They are gone after the test. */
export type StartNodes = (options?: NodesOptions) => Promise<Nodes>;

const missing = Network.missing() ?? (await SlowMount.missing());
const isSkipped = missing !== undefined && process.env['CI'] !== 'true';

/** Registers tests of nodes. Where there can be none, they are skipped; with `CI=true` they fail. */
export function describeNodes(name: string, register: (start: StartNodes) => void): void {
  describe.skipIf(isSkipped)(name, () => {
    let directory = '';
    let program = '';

    beforeAll(async () => {
      directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-network-')));
      fs.mkdirSync(path.join(directory, 'data'));
      for (let i = 0; i < OBJECTS; i++)
        fs.writeFileSync(path.join(directory, 'data', `o${i}`), someBytes(BYTES, i));
      // What is native is not in the program.
      const modules = path.resolve(import.meta.dirname, '../../node_modules');
      fs.symlinkSync(modules, path.join(directory, 'node_modules'));
      program = await programOf('node', directory, path.join(import.meta.dirname, 'children'));
    });
    afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

    register((options) => startNodes(directory, program, options));
  });
}

async function startNodes(
  directory: string,
  program: string,
  { ttlMs = 3_000, deadlineMs = 2_000, registryOn }: NodesOptions = {},
): Promise<Nodes> {
  const own = fs.mkdtempSync(path.join(directory, 'run-'));
  const mount = await SlowMount.start(path.join(directory, 'data'), { readMs: 1 });
  // The last machine is for a server.
  const network = new Network(NODES + 1);
  const all: ClusterNode[] = [];
  onTestFinished(async () => {
    await Promise.all(all.map((node) => node.kill()));
    network[Symbol.dispose]();
    await mount.close();
  });
  const file = path.join(own, 'registry', 'nodes.db');
  const registry = (await registryOn?.(network)) ?? { path: file };
  const start = async (rank: number, tier = `tier-${rank}`): Promise<ClusterNode> => {
    const node = await ClusterNode.start(network, program, {
      ...{ source: mount.directory, objects: OBJECTS, bytes: BYTES, rank, size: NODES },
      ...{ registry, ttlMs, deadlineMs, tier: path.join(own, tier), quota: 16 * 2 ** 20 },
      host: network.address(rank),
    });
    all.push(node);
    return node;
  };
  const ranks = await Promise.all(Array.from({ length: NODES }, (_, rank) => start(rank)));
  await Promise.all(ranks.map((node) => node.ask({ ask: 'gather' })));
  return { mount, network, ranks, file, start };
}

/** Every node reads everything. */
export const epoch = (ranks: readonly ClusterNode[], number: number) =>
  Promise.all(ranks.map((node) => node.ask({ ask: 'epoch', number })));

/** Resolves when each of them knows so many others. */
export const seen = (ranks: readonly ClusterNode[], count: number) =>
  Promise.all(ranks.map((node) => node.sees(({ others }) => others.length === count)));

export const only = (ranks: readonly ClusterNode[], ...left: number[]) =>
  ranks.filter((_, rank) => !left.includes(rank));

/** The node of a rank. */
export function at(ranks: readonly ClusterNode[], rank: number): ClusterNode {
  const node = ranks[rank];
  if (node === undefined) throw new Error(`no node ${rank}`);
  return node;
}
