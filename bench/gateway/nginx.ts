import { systemClock } from '@tiered/core';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { treeOf } from '../lib/process-tree.js';
import type { Dataset } from './datasets.js';
import { PROXIES_INSTALL, type Contestant, type Served } from './contestants.js';
import { Program } from './program.js';

/** How often nginx is made to look at its quota. */
const LOOKS_EACH_MS = 200;

const HAS_NGINX = spawnSync('nginx', ['-v']).status === 0;

/** nginx as a proxy that keeps what it has read, in slices where ranges are read. */
export function nginxCache(workers: number): Contestant {
  return {
    name: nameOf('nginx, proxy_cache', workers),
    isThere: HAS_NGINX,
    install: PROXIES_INSTALL,
    start: async (served) => {
      const program = await start(served, workers, cacheOf(served));
      const ended = new AbortController();
      const looks = lookOften(program.pid, ended.signal);
      return {
        pid: program.pid,
        close: async () => {
          ended.abort();
          await looks;
          await program.close();
        },
      };
    },
  };
}

/** nginx with all objects as files on the local disk: what the best copy by hand gives. */
export function nginxFiles(files: string, workers: number): Contestant {
  return {
    name: nameOf('nginx, files copied by hand', workers),
    isThere: HAS_NGINX,
    install: PROXIES_INSTALL,
    start: (served) => start(served, workers, `location / { root ${files}; }`),
  };
}

function nameOf(name: string, workers: number): string {
  return workers === 1 ? name : `${name}, ${workers} workers`;
}

function cacheOf({ dataset }: Served): string {
  const slices = isSliced(dataset)
    ? 'slice 1m; proxy_set_header Range $slice_range; proxy_cache_key $uri$is_args$args$slice_range;'
    : 'proxy_cache_key $uri$is_args$args;';
  return `location / {
    ${slices}
    proxy_pass http://source;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_cache kept;
    proxy_cache_valid 200 206 1d;
    proxy_cache_lock on;
  }`;
}

function isSliced({ bytes, piece }: Dataset): boolean {
  return bytes > piece;
}

async function start(served: Served, workers: number, location: string): Promise<Program> {
  const { directory, quota, source, port } = served;
  await mkdir(path.join(directory, 'cache'), { recursive: true });
  const configuration = path.join(directory, 'nginx.conf');
  const [error, pid, cache] = ['error.log', 'nginx.pid', 'cache'].map((name) => path.join(directory, name));
  // One look clears as much as it finds: without a limit of files, which bounds how long a look takes.
  const text = `daemon off; user root; worker_processes ${workers}; pid ${pid}; error_log ${error};
events { worker_connections 4096; }
http {
  access_log off; sendfile on; keepalive_timeout 1h; keepalive_requests 100000000;
  client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi; uwsgi_temp_path ${directory}/uwsgi; scgi_temp_path ${directory}/scgi;
  proxy_cache_path ${cache} levels=1:2 keys_zone=kept:16m inactive=1d use_temp_path=off
    max_size=${Math.floor(quota / 1024)}k manager_files=100000 manager_threshold=1s;
  upstream source { server ${new URL(source).host}; keepalive 64; }
  server { listen 127.0.0.1:${port}; location = /ready { return 200; } ${location} }
}
`;
  await writeFile(configuration, text);
  return Program.start({
    command: 'nginx',
    arguments: ['-c', configuration, '-e', error ?? ''],
    log: path.join(directory, 'nginx.log'),
    url: `http://127.0.0.1:${port}/ready`,
  });
}

/**
 * Has nginx look at its quota several times a second. By itself it looks every ten seconds, in which the
 * epochs of the bench would have fitted whole, whatever the quota: an epoch of a dataset that has to be
 * cached takes minutes. What looks is a process of its own, and a new one looks at once.
 */
async function lookOften(pid: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleep(LOOKS_EACH_MS, signal).catch(() => undefined);
    for (const one of treeOf(pid)) if (isManager(one)) process.kill(one);
  }
}

function isManager(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('cache manager process');
  } catch {
    return false;
  }
}
