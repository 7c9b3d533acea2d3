import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DaemonThread } from '../src/register/daemon-thread.js';
import { Questions } from '../src/register/questions.js';
import { temporaryDirectory } from './helpers.js';

it('a daemon that hangs is not asked', async () => {
  const directory = temporaryDirectory();
  const server = net.createServer();
  server.listen(path.join(directory, 'socket'));
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const thread = new DaemonThread(directory);
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
