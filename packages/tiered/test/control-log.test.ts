import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Control, setPolicy, type Policy } from '@tiered/control';
import { MemoryDriver, TieredError } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { logControl } from '../src/control/control-log.js';

/** A stage of the job `resnet` that has joined after operators have set something. */
async function joined(clock: ManualClock, set: Partial<Policy> = {}, by?: string): Promise<Control> {
  const records = new MemoryRecords(clock);
  const registry = new MemoryRegistry(records);
  await registry.open();
  if (Object.keys(set).length > 0)
    await setPolicy(registry, (policy) => ({ ...policy, ...set }), { owner: 'operator', by });
  await registry.close();
  const control = await Control.join({
    registry: new MemoryRegistry(records),
    job: 'resnet',
    node: 'node-1',
    clock,
  });
  onTestFinished(() => control.close());
  control.source(new MemoryDriver(), { name: 'server:/an export' });
  return control;
}

it('tells that the registry is lost and found, once in ten minutes, without secrets', async () => {
  const clock = new ManualClock();
  const control = await joined(clock);
  const lines: string[] = [];
  logControl(control, 'resnet', clock, {
    warn: (line) => void lines.push(`! ${line}`),
    note: (line) => void lines.push(line),
  });
  const error = new TieredError('TIERED_UNAVAILABLE', 'nats://user:hunter2@host failed');
  const blink = () => {
    control.emit('registryLost', { error });
    control.emit('registryFound');
  };
  blink();
  blink();
  expect(lines).toEqual([
    expect.stringMatching(
      /^! job resnet: the registry cannot be reached \(TIERED_UNAVAILABLE: .*\); its share stays/,
    ),
    'job resnet: the registry can be reached again.',
  ]);
  expect(lines.join()).not.toContain('hunter2');
  await clock.advance(600_000);
  blink();
  expect(lines).toHaveLength(4);
});

it('tells a process whose notes nobody reads only what is wrong', async () => {
  const clock = new ManualClock();
  const control = await joined(clock);
  const lines: string[] = [];
  logControl(control, 'resnet', clock, { warn: (line) => void lines.push(line) });
  control.emit('registryLost', { error: new Error('gone') });
  control.emit('registryFound');
  expect(lines).toHaveLength(1);
});

const found = async (set: Partial<Policy>, by?: string) => {
  const [clock, lines] = [new ManualClock(), [] as string[]];
  logControl(await joined(clock, set, by), 'resnet', clock, { warn: (line) => void lines.push(line) });
  return lines;
};

it('[U6] tells a job that starts what operators have set of it, who, and how to take it back', async () => {
  const lines = await found(
    {
      sources: { 'server:/an export': { bytes: 60e6 }, other: { bytes: 1 } },
      jobs: { resnet: { weight: 3, priority: -1 }, vit: { weight: 2 } },
      nodes: { '*': { producers: 7 }, 'node-2': { producers: 8 } },
    },
    'ada@desk',
  );
  expect(lines).toHaveLength(1);
  const [line = ''] = lines;
  expect(line).toMatch(
    /^job resnet: settings of operators come before its own \(revision 1, the last by ada@desk\): /,
  );
  expect(line).toMatch(
    /: source server:\/an export: 60 MB\/s \([^;]*\/s\); job resnet: weight 3, priority -1; node \*: 7/,
  );
  expect(line.slice(line.indexOf('To take it back'))).toBe(
    `To take it back, where the jobs meet: tiered control set --source 'server:/an export' --clear; ` +
      `tiered control set --job resnet --clear; tiered control set --node '*' --clear.`,
  );
});

it('[U6] tells nothing of what operators have set of others, or have taken back', async () => {
  const others = { jobs: { vit: { weight: 2 } }, nodes: { 'node-2': { producers: 8 } } };
  expect(await found(others)).toEqual([]);
  expect(await found({ jobs: { resnet: {} } })).toEqual([]);
});
