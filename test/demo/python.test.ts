import { expect, it, vi } from 'vitest';
import { pythonDemo } from '../../examples/mnist/python.js';
import { describeShim } from '../../packages/interpose/test/helpers.js';
import { debianWith, INSTALL } from '../../tools/frameworks/environments.js';

const python = debianWith('torch', 'numpy');

describeShim('the demo with Python', () => {
  it.skipIf(python === undefined && process.env['CI'] !== 'true')(
    `trains an unmodified script of PyTorch in the same order on a disk, on a source, and with a tier (needs ${INSTALL})`,
    async () => {
      vi.stubEnv('PYTHON', python ?? INSTALL);
      const said: string[] = [];
      const { signal } = new AbortController();
      // More bytes than the daemon's spool keeps.
      const demo = { samples: 10_000, seed: 2, signal, say: (line: string) => said.push(line) };
      expect(await pythonDemo(demo)).toBe(true);
      expect(said.filter((line) => line.startsWith('  an epoch of'))).toHaveLength(9);
      const [, share] = /with (\d+) % of the bytes from the source\.$/.exec(said.at(-1) ?? '') ?? [];
      // The first epoch, and 44 % of two others, of three.
      expect(Number(share)).toBeLessThan(75);
      vi.unstubAllEnvs();
    },
    // PyTorch is started three times, which takes a busy machine its time.
    600_000,
  );
});
