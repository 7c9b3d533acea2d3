import { NatsRegistry } from '@tiered/cluster/nats';
import { Control } from '@tiered/control';
import { MemoryDriver, systemClock } from '@tiered/core';
import { PassThrough } from 'node:stream';
import { runTiered } from 'tiered/cli';
import { expect, it, onTestFinished } from 'vitest';
import { describeNats, ownServer } from '../registry/nats-servers.js';

const SOURCE = 'server:/export';

/** What a command writes. */
async function tiered(...args: string[]): Promise<string> {
  const written: string[] = [];
  const [output, terminal] = [new PassThrough(), new PassThrough()];
  const host = { write: (text: string) => void written.push(text), output, terminal, clock: systemClock };
  expect(await runTiered(args, host), String(terminal.read())).toBe(0);
  return written.join('');
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
    await decided(control, () => control.view().decision.sources.has(SOURCE));
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
});
