import fs from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accepts } from '../../tools/servers/asking.js';
import { freePorts, type Processes } from '../../tools/servers/processes.js';
import { startServer } from '../../tools/servers/real-server.js';

const INSTALLATION = { name: 'Listener', programs: [], install: 'nothing' };
const LISTEN = 'require("net").createServer((socket) => socket.end()).listen(+process.argv[1], "127.0.0.1")';

const other = createServer();
let parent: string;
let taken: number;

beforeAll(async () => {
  parent = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-start-'));
  await once(other.listen(0, '127.0.0.1'), 'listening');
  taken = (other.address() as AddressInfo).port;
});

afterAll(() => {
  other.close();
  fs.rmSync(parent, { recursive: true });
});

/** A server that listens on one of these ports at each launch. */
function launches(ports: number[]) {
  return async (processes: Processes) => {
    const port = ports.shift() ?? 0;
    const answers = async () => port !== taken && (await accepts(port));
    await processes.start('listener', process.execPath, ['-e', LISTEN, `${port}`], answers);
    const credentials = { accessKeyId: '', secretAccessKey: '' };
    return { endpoint: `http://127.0.0.1:${port}`, region: '', credentials };
  };
}

describe('a server whose port another program takes', () => {
  it('is launched once more, on another', async () => {
    const [free = 0] = await freePorts(1);
    const server = await startServer(INSTALLATION, parent, launches([taken, free]));
    expect(server.endpoint).toBe(`http://127.0.0.1:${free}`);
    await server.close();
    expect(fs.readdirSync(parent)).toEqual([]);
  });

  it('says so the second time, with the end of its log', async () => {
    const starting = startServer(INSTALLATION, parent, launches([taken, taken]));
    await expect(starting).rejects.toThrow(/Listener did not start: listener ended with 1\n[^]*EADDRINUSE/);
    expect(fs.readdirSync(parent)).toEqual([]);
  });
});
