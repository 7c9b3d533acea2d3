import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import { NatsRegistry } from '@tiered/cluster/nats';
import { Control } from '@tiered/control';
import { MemoryDriver } from '@tiered/core';
import { expect, it, onTestFinished } from 'vitest';
import { tiered as ran } from '../../packages/tiered/test/cli/run-tiered.js';
import { freePorts } from '../../tools/servers/processes.js';
import { describeNats, ownServer } from '../registry/nats-servers.js';

const SOURCE = 'server:/export';

/** What a command writes that succeeds. */
async function tiered(...args: string[]): Promise<string> {
  const { code, out, messages } = await ran(...args);
  expect(code, messages).toBe(0);
  return out;
}

/** Waits for a decision with something in it. */
async function decided(control: Control, isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise<void>((resolve) => control.once('decided', () => resolve()));
}

describeNats((program) => {
  it('operators see and set what jobs get that meet in NATS', async () => {
    const { url } = await ownServer(program);
    // As a process has it whose configuration names NATS.
    const registry = new NatsRegistry({ servers: url, name: 'control', ttlMs: 3_000 });
    const control = await Control.join({ registry, job: 'imagenet', ttlMs: 3_000 });
    onTestFinished(() => control.close());
    control.source(new MemoryDriver(), { name: SOURCE });
    await decided(control, () => control.view().seen.stages.some(({ sources }) => SOURCE in sources));
    expect(await tiered('control', 'show', '--registry', url)).toContain(`source ${SOURCE}: not known yet`);
    const budget = ['--source', SOURCE, '--bytes-per-second', '60MB'];
    expect(await tiered('control', 'set', '--registry', url, ...budget)).toContain('revision 1');
    await decided(control, () => control.view().seen.policy?.revision === 1);
    expect(control.shares().sources[SOURCE]?.bytes).toBe(60e6);
    expect(await tiered('control', 'show', '--registry', url)).toContain(
      '60 MB/s (57.2 MiB/s), as operators have set it',
    );
    expect(await tiered('control', 'set', '--registry', url, '--clear', '--all')).toContain('revision 2');
  });

  it('[U6] a look makes no bucket where none is', async () => {
    const { url } = await ownServer(program);
    for (const look of [
      ['control', 'show'],
      ['control', 'why', 'imagenet'],
      ['top', '--all', '--count', '1'],
    ])
      expect(await ran(...look, '--registry', url, '--name', 'typo')).toMatchObject({
        code: 1,
        messages: expect.stringContaining(`There is no registry nats:${url}/typo. A job comes in by`),
      });
    const connection = await connect({ servers: url });
    onTestFinished(() => connection.close());
    const buckets = [];
    for await (const { bucket } of new Kvm(connection).list()) buckets.push(bucket);
    expect(buckets).toEqual([]);
  });
});

it('a server of NATS that is not there is told with the reason', async () => {
  const [port] = await freePorts(1);
  const { code, messages } = await ran('control', 'show', '--registry', `nats://127.0.0.1:${port}`);
  expect(code).toBe(1);
  expect(messages).toContain('cannot be reached: no server listens there (ECONNREFUSED); check its address');
});
