import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { servePrefetcher } from '../src/server/server.js';
import { drain, range, withCode } from './helpers.js';
import { ListReader } from './list-reader.js';

const NOBODY = 65_534;
const refused = withCode('TIERED_PERMISSION');

/** A directory of its own for the test, under /tmp. */
function directory(mode = 0o700): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-'));
  onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }));
  fs.chmodSync(made, mode);
  return made;
}

/** A server of three samples, of this user, in this directory. */
async function served(at: string): Promise<string> {
  const server = await servePrefetcher(new ListReader(range(3)), { path: path.join(at, 's') });
  onTestFinished(() => server.close());
  return server.path;
}

/** What a client at this path gets. */
async function got(socket: string, trust?: readonly number[] | 'any'): Promise<readonly number[]> {
  const client = await PrefetchClient.connect({ path: socket, ...(trust && { trust }) });
  onTestFinished(() => client.close());
  return drain(client);
}

describe.skipIf(process.platform === 'win32')('a client trusts its own socket', () => {
  it.each([
    ['in a directory that only its user may write to', 0o755],
    ['in a sticky directory that all may write to', 0o1777],
  ])('[P11] %s', async (_, mode) => {
    expect(await got(await served(directory(mode)))).toEqual(range(3));
  });

  it('[P11] also through links of its own, and by a relative path', async () => {
    const socket = await served(directory());
    const links = directory();
    fs.symlinkSync(socket, path.join(links, 'one'));
    fs.symlinkSync('one', path.join(links, 'two'));
    fs.symlinkSync('.', path.join(links, 'here'));
    expect(await got(path.relative(process.cwd(), path.join(links, 'here/two')))).toEqual(range(3));
  });

  it('[P11] but not in a directory that all may write to, unless it is told to', async () => {
    const socket = await served(directory(0o757));
    await expect(got(socket)).rejects.toEqual(refused);
    await expect(got(path.relative(process.cwd(), socket))).rejects.toEqual(refused);
    // A link from a good place leads there as well.
    const link = path.join(directory(), 'link');
    fs.symlinkSync(socket, link);
    await expect(got(link)).rejects.toEqual(refused);
    expect(await got(socket, 'any')).toEqual(range(3));
  });

  it('[P11] not where `..` of a link leads, though the path without it would be good', async () => {
    const bad = await served(directory(0o777));
    const good = directory();
    await served(good);
    fs.mkdirSync(path.join(path.dirname(bad), 'below'));
    fs.symlinkSync(path.join(path.dirname(bad), 'below'), path.join(good, 'link'));
    await expect(got(`${good}/link/../s`)).rejects.toEqual(refused);
  });

  it('[P11] links that lead in a circle are refused, and what is not there can be tried again', async () => {
    const at = directory();
    fs.symlinkSync('b', path.join(at, 'a'));
    fs.symlinkSync('a', path.join(at, 'b'));
    await expect(got(path.join(at, 'a'))).rejects.toEqual(refused);
    await expect(got(path.join(at, 'none'))).rejects.toMatchObject({
      code: 'TIERED_UNAVAILABLE',
      retryable: true,
    });
  });
});

const NEEDS_ROOT = 'sockets of other users: their tests need root';

if (process.geteuid?.() === 0) describe('a client does not trust another user', otherUsers);
else if (process.env['CI'] !== 'true') it.skip(`${NEEDS_ROOT}, skipped`);
else
  it(NEEDS_ROOT, () => {
    throw new Error('The tests do not run as root: run them in a container, or by sudo.');
  });

function otherUsers(): void {
  /** A socket on which a process of nobody listens, and no client is to connect to. */
  async function nobodys(): Promise<string> {
    const socket = path.join(directory(0o1777), 's');
    const script = path.join(directory(0o755), 'listen.mjs');
    fs.copyFileSync(path.join(import.meta.dirname, 'children/listen.mjs'), script);
    const child = spawn(process.execPath, [script, socket], {
      uid: NOBODY,
      gid: NOBODY,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await once(child, 'message')).toEqual([{ listening: true }, undefined]);
    child.on('message', () => expect.unreachable('a client has connected'));
    return socket;
  }

  it('[P11] who listens in a directory that all may write to', async () => {
    const socket = await nobodys();
    expect(fs.lstatSync(socket).uid).toBe(NOBODY);
    await expect(got(socket)).rejects.toEqual(refused);
    await expect(got(socket, [NOBODY - 1])).rejects.toEqual(refused);
    const link = path.join(directory(), 'link');
    fs.symlinkSync(socket, link);
    await expect(got(link)).rejects.toEqual(refused);
  });

  it('[P11] who owns a directory on the way, or a link, though the socket is its own', async () => {
    const at = directory(0o755);
    const socket = await served(at);
    const link = path.join(directory(0o1777), 'link');
    fs.symlinkSync(socket, link);
    expect(await got(link)).toEqual(range(3));
    fs.lchownSync(link, NOBODY, NOBODY);
    await expect(got(link)).rejects.toEqual(refused);
    fs.chownSync(at, NOBODY, NOBODY);
    await expect(got(socket)).rejects.toEqual(refused);
  });

  it('[P11] who is in a group that may write to a directory on the way', async () => {
    const at = directory(0o775);
    const socket = await served(at);
    // Its own group, of which nobody else is.
    expect(await got(socket)).toEqual(range(3));
    fs.chownSync(at, 0, NOBODY);
    await expect(got(socket)).rejects.toEqual(refused);
  });

  it('[P11] unless it is told to', async () => {
    const socket = await served(directory(0o755));
    fs.lchownSync(socket, NOBODY, NOBODY);
    await expect(got(socket)).rejects.toEqual(refused);
    expect(await got(socket, [NOBODY])).toEqual(range(3));
  });
}
