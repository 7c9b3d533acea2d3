import { systemClock, type Clock, type Hierarchy, type HierarchyEvents } from '@tiered/core';
import { listenPrivately } from '@tiered/sharing/internal';
import type { Prefetcher } from '@tiered/prefetch';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import type { MonitorLook, PrefetcherLook, ProgramsLook } from './look.js';
import { isStale, SOCKET_SUFFIX } from './sockets.js';

/** Options of `serveMonitor`. */
export interface MonitorOptions {
  /** The directory of the sockets. Made with mode 0700 if it is not there. */
  readonly directory: string;
  /** What is said of prefetching. Default: nothing. */
  readonly prefetcher?: (() => Prefetcher | undefined) | undefined;
  /** What is said of programs that are served. Default: nothing. */
  readonly programs?: (() => ProgramsLook) | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** A socket that is offered to `tiered top`. */
export interface Monitor extends AsyncDisposable {
  readonly socketPath: string;
  /** Stops it. Idempotent. */
  close(): Promise<void>;
}

/** Objects that are told of as placed last. */
const LATEST = 5;
/** Who watches. Each takes a connection for one answer. */
const MOST_CONNECTIONS = 16;
const TIMEOUT_MS = 5_000;

/**
 * Offers the statistics of a hierarchy at a socket of its own, for `tiered top`. Only this user can open it
 * (mode 0600). It answers `GET /` by HTTP with a `MonitorLook`, and does not keep the process alive. It ends
 * with the hierarchy. Sockets that processes which were killed left in the directory are removed.
 *
 * Costs nothing while nobody watches, but a note of each placed object.
 * @throws TieredError `TIERED_CONFIG_INVALID` if no socket can be made in the directory.
 */
export async function serveMonitor(
  hierarchy: Hierarchy,
  { directory, prefetcher, programs, clock = systemClock }: MonitorOptions,
): Promise<Monitor> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(() => {
    // Making the socket fails with an error that says more.
  });
  await removeStale(directory);
  const begun = clock.now();
  const placed: { key: string; level: number }[] = [];
  const note: HierarchyEvents['placed'] = ({ key, level }) => {
    placed.unshift({ key, level });
    placed.length = Math.min(placed.length, LATEST);
  };
  const look = (): MonitorLook => ({
    version: 1,
    pid: process.pid,
    forMs: clock.now() - begun,
    hierarchy: hierarchy.stats(),
    placed,
    prefetcher: prefetcherLook(prefetcher?.()),
    programs: programs?.(),
  });
  const server = http.createServer(
    { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS },
    (_, answer) => {
      answer.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      answer.end(JSON.stringify(look()));
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  const socketPath = path.join(directory, `${process.pid}-${randomBytes(4).toString('hex')}${SOCKET_SUFFIX}`);
  const unlink = await listenPrivately(server, socketPath);
  server.unref();
  hierarchy.on('placed', note);
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= end());
  const ended = () => void close();
  const end = async () => {
    hierarchy.off('placed', note);
    hierarchy.off('closed', ended);
    server.close();
    server.closeAllConnections();
    await unlink();
  };
  hierarchy.on('closed', ended);
  return { socketPath, close, [Symbol.asyncDispose]: close };
}

async function removeStale(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const socketPath = path.join(directory, name);
    // Names are used once, so what is stale now is never another's.
    if (name.endsWith(SOCKET_SUFFIX) && (await isStale(socketPath))) await rm(socketPath, { force: true });
  }
}

function prefetcherLook(prefetcher: Prefetcher | undefined): PrefetcherLook | undefined {
  if (prefetcher === undefined) return undefined;
  const { samples, bytes, heldBytes, tuning } = prefetcher.stats();
  const { epochs, verdict, starved } = prefetcher.profile();
  const epoch = epochs.at(-1);
  return {
    epoch: epoch?.epoch,
    samples,
    bytes,
    starved: epoch?.starved ?? starved,
    producers: tuning.producers,
    heldBytes,
    memoryBytes: tuning.memoryBytes,
    verdict: verdict.text,
  };
}
