import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DaemonThread } from '../src/register/daemon-thread.js';
import { Questions } from '../src/register/questions.js';
import { temporaryDirectory } from './helpers.js';

/** A daemon that takes connections, and answers none. */
async function hangingDaemon(): Promise<{ server: net.Server; thread: DaemonThread }> {
  const directory = temporaryDirectory();
  const server = net.createServer();
  server.listen(path.join(directory, 'socket'));
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { server, thread: new DaemonThread(directory) };
}

it('a daemon that hangs is not asked', async () => {
  const { server, thread } = await hangingDaemon();
  const questions = new Questions(thread, () => false);
  const answered = questions.askSync('readable', 'key');
  expect(answered).toMatchObject({ text: '', errno: os.constants.errno.EIO });
  answered.letGo();
  // What the thread does it does in this order.
  thread.post('sother');
  const [connection] = (await once(server, 'connection')) as [net.Socket];
  const [bytes] = (await once(connection, 'data')) as [Buffer];
  expect(bytes.toString()).toBe('sother\0');
  connection.destroy();
});

it('a daemon that hangs from now on keeps no connection of who asked it', async () => {
  const { server, thread } = await hangingDaemon();
  const looks = [true, true];
  const questions = new Questions(thread, () => looks.pop() ?? false);
  const answered = questions.askSync('readable', 'key');
  expect(answered).toMatchObject({ text: '', errno: os.constants.errno.EIO });
  const [connection] = (await once(server, 'connection')) as [net.Socket];
  await once(connection.resume(), 'close');
});
