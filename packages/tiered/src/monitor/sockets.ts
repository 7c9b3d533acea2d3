import { assertTrusted } from '@tiered/sharing/internal';
import { TieredError } from '@tiered/core';
import { readdir } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import { json } from 'node:stream/consumers';
import path from 'node:path';
import type { MonitorLook } from './look.js';

/** How the names of sockets end. */
export const SOCKET_SUFFIX = '.sock';

/**
 * Where commands of this user offer their sockets if nobody says where: in the directory that the system has
 * for what a user runs, else in that of temporary files.
 */
export function ownSockets({ XDG_RUNTIME_DIR: own = '' }: NodeJS.ProcessEnv = process.env): string {
  return path.join(own === '' ? os.tmpdir() : own, `tiered-${process.getuid?.() ?? 'run'}`);
}

/** Milliseconds after which a process that does not answer is passed over: it may be stopped, or compute. */
const TIMEOUT_MS = 1_000;

/** Whether nobody listens at a socket any more. */
export async function isStale(socketPath: string): Promise<boolean> {
  try {
    await ask(socketPath);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  }
}

/** What a process said, or that it did not answer. */
export type Watched =
  | { readonly socketPath: string; readonly look: MonitorLook }
  | { readonly socketPath: string; readonly look: undefined };

/**
 * Asks all processes that offer a socket in a directory. Those that are gone are left out.
 * @throws TieredError `TIERED_PERMISSION` for a socket that another user may have put there.
 */
export async function askAll(directory: string): Promise<Watched[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  const sockets = names.filter((name) => name.endsWith(SOCKET_SUFFIX)).sort();
  const watched = await Promise.all(sockets.map((name) => askOne(path.join(directory, name))));
  return watched.filter((one) => one !== undefined);
}

async function askOne(socketPath: string): Promise<Watched | undefined> {
  try {
    await assertTrusted(socketPath, []);
    return { socketPath, look: await ask(socketPath) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return undefined;
    if (error instanceof TieredError) throw error;
    return { socketPath, look: undefined };
  }
}

async function ask(socketPath: string): Promise<MonitorLook> {
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const request = http.get({ socketPath, path: '/', agent: false, timeout: TIMEOUT_MS }, resolve);
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('no answer')));
  });
  const look = (await json(answer)) as MonitorLook;
  // A number, whatever a later release makes of the rest.
  if ((look.version as number) === 1) return look;
  throw new TieredError(
    'TIERED_VERSION_MISMATCH',
    `The process behind ${socketPath} is of another version of tiered; watch it with that version.`,
  );
}
