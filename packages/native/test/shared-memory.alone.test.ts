import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { MemoryRequest, MOST_SHARED_BYTES, SharedMemory } from '../src/index.js';
import { binding } from '../src/load.js';
import { describeNative, openFiles, temporaryDirectory, until } from './helpers.js';

const BYTES = 1_000_000;
const GREETING = Buffer.from('memory, please');

/** What this process has of the memory that it makes here. */
const mappings = () => fs.readFileSync('/proc/self/maps', 'utf8').split('memfd:tiered').length - 1;
const descriptors = () => openFiles().filter((name) => name.includes('memfd:tiered')).length;

/** A server that answers the first who connects, when it has been greeted, and who has connected. */
async function asked(answer: (socket: number) => void): Promise<MemoryRequest> {
  const file = path.join(temporaryDirectory(), 's');
  const server = net.createServer().listen(file);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const request = new MemoryRequest(file, GREETING);
  onTestFinished(() => request.close());
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  const [greeting] = (await once(socket, 'data')) as [Buffer];
  expect(greeting).toEqual(GREETING);
  answer((socket as unknown as { _handle: { fd: number } })._handle.fd);
  socket.destroy();
  return request;
}

/** Memory of both ends. */
async function shared(bytes = BYTES): Promise<{ given: SharedMemory; received: SharedMemory }> {
  let given: SharedMemory | undefined;
  using request = await asked((socket) => (given = SharedMemory.give(socket, bytes)));
  const received = request.receive(bytes);
  if (given === undefined) throw new Error('nothing was given');
  return { given, received };
}

const codeOf = (call: () => unknown) => {
  try {
    call();
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

describeNative('shared memory', () => {
  afterEach(async () => {
    expect(descriptors()).toBe(0);
    await until(() => mappings() === 0);
  });

  it('is seen by both, and keeps no descriptor', async () => {
    const { given, received } = await shared();
    expect(given.buffer.byteLength).toBe(BYTES);
    expect(received.buffer.byteLength).toBe(BYTES);
    new Uint8Array(given.buffer).fill(7, BYTES - 3);
    new Uint8Array(received.buffer)[0] = 9;
    expect([...new Uint8Array(received.buffer, BYTES - 4)]).toEqual([0, 7, 7, 7]);
    expect(new Uint8Array(given.buffer)[0]).toBe(9);
    expect(mappings()).toBe(2);
    given.detach();
    received.detach();
    await until(() => mappings() === 0);
  });

  it('stays with one when the other has let go, and goes with the last', async () => {
    const before = binding().live();
    const { given, received } = await shared();
    const view = new Uint8Array(received.buffer, 10, 10);
    new Uint8Array(given.buffer).fill(5);
    given.detach();
    expect(given.buffer.byteLength).toBe(0);
    await until(() => mappings() === 1);
    expect(view).toEqual(new Uint8Array(10).fill(5));
    received.empty();
    expect(view).toEqual(new Uint8Array(10));
    received.detach();
    received.detach();
    await until(() => mappings() === 0);
    expect(view.byteLength).toBe(0);
    expect(binding().live()).toBe(before);
  });

  it('that nobody lets go is unmapped when nobody can look at it any more, and not before', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const views = [new Uint8Array((await shared()).received.buffer, 3, 4)];
    await until(() => {
      collectGarbage();
      return mappings() === 1;
    });
    for (let i = 0; i < 3; i++) collectGarbage();
    expect(views[0]).toEqual(new Uint8Array(4));
    views.length = 0;
    await until(() => {
      collectGarbage();
      return mappings() === 0;
    });
  });

  it('can be neither cut nor made longer, nor transferred', async () => {
    let fd = -1;
    using request = await asked((socket) => {
      fd = binding().makeMemory(BYTES);
      binding().giveDescriptor(socket, fd);
    });
    for (const bytes of [0, BYTES - 1, BYTES + 1])
      expect(codeOf(() => fs.ftruncateSync(fd, bytes))).toBe('EPERM');
    fs.closeSync(fd);
    const memory = request.receive(BYTES);
    const { buffer } = memory;
    // Node 20 passes over what cannot be transferred, later ones throw.
    codeOf(() => structuredClone(buffer, { transfer: [buffer] }));
    expect(buffer.byteLength).toBe(BYTES);
    memory.detach();
  });

  it('knows who listens', async () => {
    const request = await asked(() => undefined);
    expect(request.user).toBe(process.geteuid?.());
    request.close();
    request.close();
    expect(() => request.receive(BYTES)).toThrow(RangeError);
  });

  it('of another length, or that could be taken away again, is refused', async () => {
    const file = path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : temporaryDirectory(), `t-${process.pid}`);
    fs.writeFileSync(file, Buffer.alloc(BYTES));
    onTestFinished(() => fs.rmSync(file));
    const open = fs.openSync(file, 'r+');
    onTestFinished(() => fs.closeSync(open));
    using other = await asked((socket) => binding().giveDescriptor(socket, open));
    expect(codeOf(() => other.receive(BYTES))).toBe('EINVAL');
    for (const bytes of [1, BYTES - 1, BYTES + 1]) {
      let given: SharedMemory | undefined;
      using request = await asked((socket) => (given = SharedMemory.give(socket, BYTES)));
      expect(codeOf(() => request.receive(bytes))).toBe('EINVAL');
      given?.detach();
    }
  });

  it('that has not come, or is none, is said so', async () => {
    using silent = await asked(() => undefined);
    expect(codeOf(() => silent.receive(BYTES))).toBe('EPROTO');
    const file = path.join(temporaryDirectory(), 's');
    expect(codeOf(() => new MemoryRequest(file, GREETING))).toBe('ENOENT');
    const server = net.createServer().listen(file);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    using early = new MemoryRequest(file, GREETING);
    expect(codeOf(() => early.receive(BYTES))).toBe('EAGAIN');
    const [socket] = (await once(server, 'connection')) as [net.Socket];
    socket.end('x');
    await once(socket, 'finish');
    expect(codeOf(() => early.receive(BYTES))).toBe('EPROTO');
  });

  it('that cannot be made or given is an error of the system, and leaves nothing open', () => {
    expect(codeOf(() => SharedMemory.give(1e6, BYTES))).toBe('EBADF');
    const file = fs.openSync(import.meta.filename, 'r');
    expect(codeOf(() => SharedMemory.give(file, BYTES))).toBe('ENOTSOCK');
    fs.closeSync(file);
    for (const bytes of [0, -1, 0.5, MOST_SHARED_BYTES + 1])
      expect(() => SharedMemory.give(1e6, bytes)).toThrow(RangeError);
    expect(mappings()).toBe(0);
  });
});
