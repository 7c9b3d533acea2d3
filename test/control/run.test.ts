import { SqliteRegistry } from '@tiered/cluster/registry';
import { look, type Stage } from '@tiered/control';
import { systemClock } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { describeShim, makeDataset, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { KEYS, tieredIn } from '../interpose/tiered.js';

/** Waits until the only stage is as it is to be. */
async function stageIn(directory: string, isSo: (stage: Stage) => boolean): Promise<Stage> {
  vi.stubEnv('XDG_RUNTIME_DIR', directory);
  const registry = SqliteRegistry.named('control');
  await registry.open();
  onTestFinished(() => registry.close());
  for (;;) {
    const { stages } = await look(registry);
    const found = stages.find(isSo);
    if (found !== undefined) return found;
    await systemClock.turn();
  }
}

describeShim('tiered run as a job', () => {
  it('has the weight that it is told, and reads the source for its programs below a root', async () => {
    const { source } = makeDataset(KEYS);
    const runtime = temporaryDirectory();
    const root = path.join(temporaryDirectory(), 'files');
    const script = `cat "$TIERED_ROOT"/Set/* | wc -c; echo read; read line`;
    const options = ['--tier', 'ram:8MiB', '--root', root, '--job', 'resnet', '--weight', '2.5'];
    const running = tieredIn(
      { XDG_RUNTIME_DIR: runtime },
      ...['run', source, ...options, '--', 'sh', '-c', script],
    );
    await running.says('read');
    const stage = await stageIn(runtime, ({ sources }) => Object.keys(sources).length > 0);
    expect([stage.job, stage.terms.weight]).toEqual(['resnet', 2.5]);
    running.process.stdin?.end('\n');
    expect(await running.ended).toBe(0);
    const bytes = KEYS.reduce((sum, key) => sum + fs.statSync(path.join(source, key)).size, 0);
    expect(running.out()).toContain(`${bytes}\n`);
  });

  it('says that programs read a directory past the share, where they have no root', async () => {
    const { source } = makeDataset(KEYS);
    const told = ['run', source, '--tier', 'ram:8MiB', '--job', 'resnet'];
    const running = tieredIn({ XDG_RUNTIME_DIR: temporaryDirectory() }, ...told, '--', 'true');
    expect(await running.ended).toBe(0);
    expect(running.messages()).toContain('past the share of the job; below --root PATH they do not');
  });

  it('refuses a weight of no job, and a job beside a daemon that has its own', async () => {
    const { source } = makeDataset(KEYS);
    const options = [source, '--tier', 'ram:8MiB', '--weight', '2'];
    const alone = tieredIn({}, 'run', ...options, '--', 'true');
    expect(await alone.ended).toBe(2);
    expect(alone.messages()).toContain('--weight: needs a job');
    const beside = tieredIn({}, 'run', '--at', '/nowhere', '--job', 'resnet', '--', 'true');
    expect(await beside.ended).toBe(2);
    expect(beside.messages()).toContain('--at: cannot be combined');
  });
});
