import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Serving, type Ready } from './serving.js';

const KEYS = Array.from({ length: 60 }, (_, i) => `train/${String(i).padStart(2, '0')}.bin`);
const OBJECTS = new Map(KEYS.map((key, i) => [key, someBytes(20_000 + i, i)]));

/** A directory until the test has ended, and all that it has started. */
async function scratch(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-processes-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** What clients of all tests may write. */
const WRITTEN = 'checkpoints/';

/** A source that counts, and the configuration of a tier on disk over it. */
async function sourceAndFile(): Promise<{ source: S3Server; file: string }> {
  const directory = await scratch();
  const source = await S3Server.start();
  onTestFinished(() => source.close());
  source.createBucket('data');
  for (const [key, bytes] of OBJECTS) source.put('data', key, bytes);
  const { endpoint, region } = source;
  const file = path.join(directory, 'tiers.json');
  const level = { driver: 's3', bucket: 'data', endpoint, region, proxy: 'none' };
  const tiers = [{ driver: 'fs', root: 'cache', quota: '64MiB' }];
  await writeFile(file, JSON.stringify({ source: level, tiers, gateway: { writes: [WRITTEN] } }));
  return { source, file };
}

/** The command, when it serves these objects. */
async function served(...more: string[]) {
  const { source, file } = await sourceAndFile();
  const { accessKeyId, secretAccessKey } = source.credentials;
  const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const serving = new Serving([file, '--port', '0', ...more], env);
  return { source, serving, ready: await serving.ready() };
}

/** An object by a connection of its own, or of the agent. */
function get(ready: Ready, key: string, agent?: Agent, headers = {}): Promise<[number, Buffer]> {
  return send(ready, 'GET', key, { agent, headers });
}

interface Sent {
  readonly agent?: Agent | undefined;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

function send(
  { endpoint }: Ready,
  method: string,
  key: string,
  { agent, headers, body }: Sent = {},
): Promise<[number, Buffer]> {
  return new Promise((resolve, reject) => {
    const options = { method, agent: agent ?? false, headers };
    const outgoing = request(`${endpoint}/data/${key}`, options, (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on('data', (piece: Buffer) => pieces.push(piece));
      incoming.on('end', () => resolve([incoming.statusCode ?? 0, Buffer.concat(pieces)]));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject).end(body);
  });
}

/** Reads all objects by many connections at once. */
async function readAll(ready: Ready): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  try {
    await Promise.all(
      KEYS.map(async (key) => {
        const [status, bytes] = await get(ready, key, agent);
        expect([status, Buffer.compare(bytes, OBJECTS.get(key) ?? Buffer.of())]).toEqual([200, 0]);
      }),
    );
  } finally {
    agent.destroy();
  }
}

/** Waits until one of the processes has placed each object. Connections go to one after the other. */
async function placed(ready: Ready): Promise<void> {
  const isPlaced = async (key: string) =>
    (await get(ready, key, undefined, { 'cache-control': 'only-if-cached' }))[0] === 200;
  for (const key of KEYS) while (!(await isPlaced(key)));
}

const textOf = async (url: string) => (await fetch(url)).text();

const numberIn = (metrics: string, name: string): number => {
  const line = metrics.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
};

const ANSWERS = 'tiered_gateway_answers_total{operation="GetObject",status="200"}';
const stateOf = (state: string) => `tiered_gateway_processes{state="${state}"}`;

/** The metrics of a moment in which so many processes answer: on a busy machine, one may take its second. */
async function metricsOf({ metricsEndpoint }: Ready, answering = 2): Promise<string> {
  for (;;) {
    const metrics = await textOf(`${metricsEndpoint}/metrics`);
    if (numberIn(metrics, stateOf('answering')) === answering) return metrics;
  }
}

describe('tiered serve --processes', () => {
  it('[X1] [X6] [T3] reads from one tier by all processes, and lists the source once', async () => {
    const { source, serving, ready } = await served('--access-log');
    await readAll(ready);
    const { GetObject } = source.requests;
    // Each object was asked for once, by one of the processes.
    expect(GetObject).toBe(KEYS.length);
    await placed(ready);
    for (let epoch = 0; epoch < 3; epoch++) await readAll(ready);
    expect(source.requests).toMatchObject({ GetObject, ListObjectsV2: 1 });
    const metrics = await metricsOf(ready);
    const answers = numberIn(metrics, ANSWERS);
    expect(answers).toBeGreaterThanOrEqual(4 * KEYS.length);
    expect(numberIn(metrics, 'tiered_source_reads{bucket="data"}')).toBe(KEYS.length);
    expect(numberIn(metrics, 'tiered_objects{bucket="data"}')).toBe(KEYS.length);
    expect(numberIn(metrics, 'tiered_tier_quota_bytes{bucket="data",level="0"}')).toBe(64 * 2 ** 20);
    serving.kill('SIGTERM');
    const { code, messages } = await serving.ended;
    expect(code).toBe(0);
    const log = messages.slice(0, -1).map((line) => JSON.parse(line) as { status: number });
    expect(log.filter(({ status }) => status === 200).length).toBe(answers);
    expect(messages.at(-1)).toMatch(new RegExp(`^${log.length} answers with .* came from the source$`));
    expect(await serving.left()).toEqual([]);
  });

  it('[X7] shows what was written through one process to readers of all', async () => {
    const { ready } = await served();
    // Connections go to one process after the other.
    const readByAll = async () => {
      const read = async () => {
        const [status, bytes] = await get(ready, `${WRITTEN}last`);
        return status === 200 ? bytes.toString() : status;
      };
      return new Set([await read(), await read(), await read()]);
    };
    expect(await readByAll()).toEqual(new Set([404]));
    for (const body of ['the first', 'another', 'the last one']) {
      expect((await send(ready, 'PUT', `${WRITTEN}last`, { body }))[0]).toBe(200);
      expect(await readByAll()).toEqual(new Set([body]));
    }
    expect((await send(ready, 'DELETE', `${WRITTEN}last`))[0]).toBe(204);
    expect(await readByAll()).toEqual(new Set([404]));
  });

  it('[X6] replaces a process that is killed, and reads go on', async () => {
    const { source, serving, ready } = await served();
    await readAll(ready);
    const before = numberIn(await metricsOf(ready), ANSWERS);
    const [killed = 0] = ready.processes;
    process.kill(killed, 'SIGKILL');
    await serving.said(new RegExp(`^process ${killed} ended \\(SIGKILL\\); another one starts in 0.1 s$`));
    await serving.said(/^process \d+ serves$/);
    await readAll(ready);
    expect(await textOf(`${ready.metricsEndpoint}/readyz`)).toBe('ok\n');
    const metrics = await metricsOf(ready);
    expect(numberIn(metrics, ANSWERS)).toBe(before + KEYS.length);
    expect(numberIn(metrics, 'tiered_gateway_ended_processes_total')).toBe(1);
    expect(source.requests.ListObjectsV2).toBe(1);
  });

  it('[X6] keeps its port when all processes are killed', async () => {
    const { serving, ready } = await served();
    for (const id of ready.processes) process.kill(id, 'SIGKILL');
    for (const id of ready.processes) await serving.said(new RegExp(`^process ${id} ended`));
    await serving.said(/^process \d+ serves$/);
    await readAll(ready);
  });

  it('[X6] tells that a process is silent, with what it counted before', async () => {
    const { ready } = await served();
    await readAll(ready);
    const before = numberIn(await metricsOf(ready), ANSWERS);
    const [stopped = 0] = ready.processes;
    process.kill(stopped, 'SIGSTOP');
    onTestFinished(() => void process.kill(stopped, 'SIGKILL'));
    const metrics = await metricsOf(ready, 1);
    expect([numberIn(metrics, stateOf('silent')), numberIn(metrics, ANSWERS)]).toEqual([1, before]);
  });

  it('[X6] leaves no process behind when the first one is killed', async () => {
    const { serving, ready } = await served();
    // One in each process, which ends with it.
    const closed = ready.processes.map(async () => {
      const socket = connect(Number(new URL(ready.endpoint).port), '127.0.0.1');
      await once(socket, 'connect');
      const ended = once(socket.on('error', () => undefined).resume(), 'close');
      socket.write('GET /data/none HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
      await once(socket, 'data');
      return { ended };
    });
    const sockets = await Promise.all(closed);
    serving.kill('SIGKILL');
    await Promise.all(sockets.map(({ ended }) => ended));
    expect(await serving.left()).toEqual([]);
  });

  it('[X6] ends all processes when a terminal interrupts them', async () => {
    const { serving, ready } = await served();
    await readAll(ready);
    serving.killAll('SIGINT');
    const { code, messages } = await serving.ended;
    expect([code, messages]).toEqual([0, [expect.stringMatching(`^${KEYS.length} answers`)]]);
    expect(await serving.left()).toEqual([]);
  });

  it('[Q1] has one quota for a tier in memory, of which each process has its part', async () => {
    const serving = new Serving([await scratch(), '--tier', 'ram:8MiB', '--bucket', 'data', '--port', '0']);
    const metrics = await metricsOf(await serving.ready());
    expect(numberIn(metrics, 'tiered_tier_quota_bytes{bucket="data",level="0"}')).toBe(8 * 2 ** 20);
  });
});

describe('tiered serve --processes ends with the error of a process that cannot start', () => {
  const refused = async (args: readonly string[]) => {
    const serving = new Serving(args);
    const { code, messages } = await serving.ended;
    expect(await serving.left()).toEqual([]);
    return [code, messages.join('\n')] as const;
  };

  it('[X3] an address that others reach, without keys', async () => {
    const said = expect.stringMatching(/^--host: .* set TIERED_ACCESS_KEY_ID/) as string;
    expect(await refused([await scratch(), '--tier', 'ram:8MiB', '--host', '0.0.0.0'])).toEqual([2, said]);
  });

  it('[X6] a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const said = expect.stringMatching(`^port ${port} of 127.0.0.1 is in use`) as string;
    expect(await refused([await scratch(), '--tier', 'ram:8MiB', '--port', String(port)])).toEqual([2, said]);
  });

  it('[T5] a tier that one process alone can use', async () => {
    const file = path.join(await scratch(), 'tiers.json');
    const config = { source: { driver: 'fs', root: await scratch() } };
    const tier = { driver: 'fs', root: 'cache', prefix: 'part/', quota: '8MiB' };
    await writeFile(file, JSON.stringify({ ...config, tiers: [tier] }));
    const said = expect.stringMatching(
      /^--processes: the tier .* can be used by one process alone/,
    ) as string;
    expect(await refused([file, '--port', '0'])).toEqual([2, said]);
  });
});
