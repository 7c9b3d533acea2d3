import { someBytes } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { ONE_PROCESS, started, tieredIn, type Running } from '../interpose/tiered.js';

const KEYS = Array.from({ length: 24 }, (_, i) => `o${100 + i}`);
const BYTES = 5000;

interface Ready {
  readonly endpoint: string;
  readonly metricsEndpoint: string;
}

/** What a server says when clients can come. */
async function readyOf({ out, says, ended, messages }: Running): Promise<Ready> {
  const died = ended.then(() => Promise.reject(new Error(messages())));
  await Promise.race([says('\n').then(() => says('"endpoint"')), died]);
  return JSON.parse(out()) as Ready;
}

describe('tiered serve as a worker of a cluster', () => {
  it('reads from the tiers of others, and tells those who watch', async () => {
    const above = temporaryDirectory();
    const source = path.join(above, 'source');
    fs.mkdirSync(source);
    for (const [i, key] of KEYS.entries()) fs.writeFileSync(path.join(source, key), someBytes(BYTES, i));
    const env = { XDG_RUNTIME_DIR: above };
    const ports = ['--port', '0', '--metrics-port', '0'];
    const serve = () => {
      const what = [source, '--tier', 'ram:8MiB', '--cluster', 'training'];
      // In one process, so that the end of the test is the end of the server.
      const command = [...ONE_PROCESS, 'serve', ...what, ...ports, '--json'];
      return started(command, { env: { ...process.env, ...env } });
    };
    const first = serve();
    await readyOf(first);
    const second = serve();
    const { endpoint, metricsEndpoint } = await readyOf(second);
    await first.says('cluster training: worker 1 came; 2 workers are there.');
    for (const [i, key] of KEYS.entries()) {
      const answer = await fetch(`${endpoint}/source/${key}`);
      expect(Buffer.from(await answer.arrayBuffer()).equals(someBytes(BYTES, i))).toBe(true);
    }
    const metrics = await (await fetch(`${metricsEndpoint}/metrics`)).text();
    const valueOf = (metric: string) =>
      Number(new RegExp(`^${metric}\\{[^}]*\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
    expect(valueOf('tiered_peers_read_bytes')).toBeGreaterThan(0);
    expect(valueOf('tiered_peers_read_bytes') + valueOf('tiered_source_read_bytes')).toBe(
      KEYS.length * BYTES,
    );
    expect(valueOf('tiered_peer_asked')).toBe(1);
    expect(metrics).toMatch(/^tiered_peer_reads\{bucket="source",rank="0"\} \d+$/m);
    first.process.kill('SIGTERM');
    await second.says('cluster training: worker 0 went; 1 worker is there.');
    expect(await first.ended).toBe(0);
  });

  it('is one process, and a configuration names its own cluster', async () => {
    const above = temporaryDirectory();
    const config = path.join(above, 'tiers.json');
    const cluster = { name: 'training', host: '0.0.0.0' };
    fs.writeFileSync(config, JSON.stringify({ source: { driver: 'fs', root: above }, cluster }));
    const messages = async (...args: string[]) => {
      const running = tieredIn({}, 'serve', ...args, '--port', '0');
      expect(await running.ended).toBe(2);
      return running.messages();
    };
    expect(await messages(config, '--cluster', 'other')).toContain('--cluster');
    expect(await messages(config)).toContain('cluster.token: expected a secret of at least 16 characters');
    expect(await messages(config, '--processes', '2')).toContain(
      '--processes: a worker of a cluster is one process',
    );
  });
});
