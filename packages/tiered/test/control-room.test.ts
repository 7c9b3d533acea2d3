import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { changeOf } from '../src/control-room/setting.js';
import { viewOf } from '../src/control-room/view.js';
import { frameOf, Watch, type Frame } from '../src/control-room/watch.js';
import { stageOf } from './cli/control-records.js';

const named = (id: string, stage: Parameters<typeof stageOf>[0]) => ({ id, ...stageOf(stage) });

describe('the looks of a control room', () => {
  it('[N3] are those of the last five minutes', async () => {
    const clock = new ManualClock();
    const registry = new MemoryRegistry(new MemoryRecords(clock));
    await registry.open({});
    const watch = new Watch(registry, clock);
    await watch.start();
    let seen = 0;
    const leave = watch.follow(() => (seen += 1));
    await clock.advance(400_000);
    expect(watch.frames).toHaveLength(300);
    expect([watch.frames[0]?.at, watch.frames.at(-1)?.at]).toEqual([101_000, 400_000]);
    expect(seen).toBe(400);
    leave();
    await watch.close();
    await watch.close();
    expect([clock.sleeping, clock.sleepingInBackground, seen]).toEqual([0, 0, 400]);
  });

  it('say if the registry is lost, and go on', async () => {
    const clock = new ManualClock();
    const records = new MemoryRecords(clock);
    const registry = new MemoryRegistry(records);
    const watch = new Watch(registry, clock);
    await expect(watch.start()).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN' });
    await registry.open({});
    await watch.start();
    await registry.close();
    await clock.advance(2_000);
    expect(watch.frames.map(({ lost }) => lost !== undefined)).toEqual([false, true, true]);
    await watch.close();
  });

  it('[N3] leave out those for whom there is no room on a page', () => {
    const crowd = Array.from({ length: 40 }, (_, at) =>
      named(`${at}`, { job: `job-${at}`, report: { used: { bytes: at * 1e6, operations: at } } }),
    );
    const alone = Array.from({ length: 20 }, (_, at) =>
      named(`a${at}`, { job: 'a', source: `source-${at}` }),
    );
    const frame: Frame = frameOf(viewOf({ stages: [...crowd, ...alone], policy: undefined }), 5);
    expect(frame.sources).toHaveLength(8);
    const export_ = frame.sources.find(({ source }) => source === 'server:/export');
    expect(export_?.others).toBe(24);
    expect(export_?.jobs.map(({ job }) => job)).not.toContain('job-23');
    expect(export_?.jobs.map(({ job }) => job)).toContain('job-24');
  });
});

describe('a setting', () => {
  it('changes what it names, and nothing else', () => {
    const before = {
      sources: { a: { bytes: 5, operations: 7 } },
      jobs: { b: { weight: 2, atMost: { operations: 9 } } },
      nodes: {},
    };
    const changed = changeOf({ job: 'b', atMost: '1kB' })(before);
    expect(changed).toEqual({
      ...before,
      jobs: { b: { weight: 2, atMost: { operations: 9, bytes: 1000 } } },
    });
    expect(changeOf({ source: 'a', operationsPerSecond: '8' })(before).sources).toEqual({
      a: { bytes: 5, operations: 8 },
    });
    expect(changeOf({ source: 'a', clear: true })(before)).toEqual({ ...before, sources: {} });
    expect(changeOf({ clear: true, all: true })(before)).toEqual({ sources: {}, jobs: {}, nodes: {} });
  });

  it('of a job may guarantee nothing, and may not bound it to nothing', () => {
    const nothing = { sources: {}, jobs: {}, nodes: {} };
    expect(changeOf({ job: 'b', atLeast: '0' })(nothing).jobs).toEqual({ b: { atLeast: { bytes: 0 } } });
    expect(() => changeOf({ job: 'b', atMost: '0' })).toThrow('at-most: expected a size above 0');
  });
});
