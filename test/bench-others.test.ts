import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { childrenMs } from '../bench/lib/others.js';

it.runIf(process.platform === 'linux')('knows how long processes computed that a bench has started', () => {
  const before = childrenMs();
  const script = `
    let used = 0;
    while (used < 100_000) used = Object.values(process.cpuUsage()).reduce((sum, one) => sum + one);
    console.log(used / 1000);
  `;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  // Times in user and in system mode are rounded down to 10 ms each.
  expect(childrenMs() - before).toBeGreaterThan(Number(stdout) - 20);
});
