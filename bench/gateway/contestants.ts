import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { SOURCES } from '../lib/from-sources.js';
import type { Dataset } from './datasets.js';
import { Program } from './program.js';

/** What a contestant serves. */
export interface Served {
  readonly dataset: Dataset;
  /** Where the source is. */
  readonly source: string;
  /** What it may keep on the disk, in bytes. */
  readonly quota: number;
  /** Its own, empty at first. */
  readonly directory: string;
  /** Of 127.0.0.1, on which it is to listen. */
  readonly port: number;
}

/** A server that runs. */
export interface Running {
  readonly pid: number;
  close(): Promise<void>;
}

/** A server that keeps on the disk what clients read through it. */
export interface Contestant {
  readonly name: string;
  /** Whether it is installed. */
  readonly isThere: boolean;
  /** How it gets here. */
  readonly install: string;
  readonly start: (served: Served) => Promise<Running>;
}

/** Of what Debian and Ubuntu have. */
export const PROXIES_INSTALL = 'bash tools/servers/install.sh proxies';

const TIERED = fileURLToPath(new URL('../../packages/tiered/bin/from-sources.js', import.meta.url));

/** `tiered serve` with a tier on the disk, in one process or several. */
export function gateway(processes: number): Contestant {
  return {
    name: processes === 1 ? 'tiered serve' : `tiered serve, ${processes} processes`,
    isThere: processes === 1 || hasProcesses(),
    install: 'tiered serve has no --processes',
    start: async ({ dataset, source, quota, directory, port }) => {
      await mkdir(directory, { recursive: true });
      const configuration = path.join(directory, 'tiers.json');
      await writeFile(
        configuration,
        JSON.stringify({
          source: { driver: 's3', bucket: dataset.bucket, endpoint: source, anonymous: true },
          tiers: [{ driver: 'fs', root: path.join(directory, 'cache'), quota }],
        }),
      );
      const several = processes === 1 ? [] : ['--processes', String(processes)];
      return Program.start({
        command: process.execPath,
        arguments: [...SOURCES, TIERED, 'serve', configuration, '--port', String(port), ...several],
        log: path.join(directory, 'tiered.log'),
        url: `http://127.0.0.1:${port}/${dataset.bucket}?location`,
      });
    },
  };
}

function hasProcesses(): boolean {
  const help = spawnSync(process.execPath, [...SOURCES, TIERED, 'serve', '--help']);
  return help.stdout.includes('--processes');
}

/** rclone with a cache of whole files that evicts by LRU. */
export const rclone: Contestant = {
  name: 'rclone serve http',
  isThere: spawnSync('rclone', ['version']).status === 0,
  install: PROXIES_INSTALL,
  start: async ({ dataset, source, quota, directory, port }) => {
    await mkdir(directory, { recursive: true });
    const remote = `:s3,provider=Other,force_path_style=true,endpoint="${source}":${dataset.bucket}`;
    const options = {
      addr: `127.0.0.1:${port}`,
      baseurl: `/${dataset.bucket}`,
      config: path.join(directory, 'rclone.conf'),
      'cache-dir': path.join(directory, 'cache'),
      'vfs-cache-mode': 'full',
      'vfs-cache-max-size': `${Math.floor(quota / 1024)}k`,
      'vfs-cache-max-age': '24h',
      // Every minute by default, in which an epoch fits whole.
      'vfs-cache-poll-interval': '200ms',
      'dir-cache-time': '24h',
    };
    return Program.start({
      command: 'rclone',
      arguments: [
        ...['serve', 'http', remote, '--read-only', '--use-server-modtime'],
        ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
      ],
      // rclone refuses to read from a server without TLS if this is set.
      environment: { AWS_CA_BUNDLE: undefined },
      log: path.join(directory, 'rclone.log'),
      url: `http://127.0.0.1:${port}/${dataset.bucket}/`,
    });
  },
};
