import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectionTo, send } from './helpers.js';

const TARGET = '/data/k';

/** Two processes at one port, each of which takes two connections. */
async function clustered() {
  const execArgv = ['--conditions=tiered-source', '--import', import.meta.resolve('tsx')];
  const child = fork(path.join(import.meta.dirname, 'children/cluster.ts'), { execArgv });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.disconnect();
    await ended;
  });
  const { endpoints } = (await answerOf(child)) as { readonly endpoints: readonly string[] };
  return { child, endpoints, endpoint: endpoints[0] ?? '' };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [answer] = (await once(child, 'message')) as [unknown];
  return answer;
}

async function metricsOf(child: ChildProcess): Promise<string> {
  child.send('metrics');
  const { text } = (await answerOf(child)) as { readonly text: string };
  return text;
}

it('[X1] gateways in processes of node:cluster serve at one port, and their metrics add up', async () => {
  const { child, endpoints, endpoint } = await clustered();
  expect(endpoints[1]).toBe(endpoint);
  for (let i = 0; i < 4; i++) expect((await send({ endpoint }, TARGET)).body.toString()).toBe('hello');
  const lines = (await metricsOf(child)).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'tiered_gateway_answers_total{operation="GetObject",status="200"} 4',
      'tiered_gateway_bytes_total{from="source"} 20',
      'tiered_objects{bucket="data"} 1',
    ]),
  );
});

it('[X2] connections beyond the limits of all processes of node:cluster are closed at once', async () => {
  const { child, endpoint } = await clustered();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const kept = () =>
    new Promise((resolve, reject) => {
      const outgoing = request(endpoint + TARGET, { agent }, (incoming) => {
        incoming.resume().once('end', () => resolve(incoming.statusCode));
      });
      outgoing.on('error', reject).end();
    });
  expect(await kept()).toBe(200);
  const events = new EventEmitter();
  const most = once(events, 'most');
  let closed = 0;
  for (let i = 0; i < 40; i++)
    connectionTo({ endpoint })
      .resume()
      .once('close', () => {
        closed += 1;
        if (closed === 37) events.emit('most');
      });
  await most;
  expect(await kept()).toBe(200);
  expect(await metricsOf(child)).toMatch(/^tiered_gateway_refused_connections_total 37$/m);
});
