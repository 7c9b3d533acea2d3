import { Hierarchy, MemoryDriver, type HierarchyOptions } from '@tiered/core';
import { FaultDriver, type FaultRule, ManualClock, someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const SIZE = 1000;

async function temporaryDirectory(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A hierarchy on a directory as its tier, with faults, and the lines that it tells. */
async function startOn(root: string, rules: readonly FaultRule[], options: Partial<HierarchyOptions> = {}) {
  const source = new MemoryDriver();
  const keys = Array.from({ length: 50 }, (_, i) => `secret-${i}`);
  for (const key of keys) await source.write(key, someBytes(SIZE, 1), { size: SIZE });
  const driver = new FaultDriver(new FileSystemDriver({ root, writable: true }), { rules });
  const lines: string[] = [];
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, quota: '4MiB' }],
    placement: new PlacementHandler(),
    warn: (line) => lines.push(line),
    ...options,
  });
  onTestFinished(() => hierarchy.close());
  const epoch = async () => {
    for (const key of keys) expect(await hierarchy.read(key)).toEqual(someBytes(SIZE, 1));
    await hierarchy.idle();
  };
  return { hierarchy, lines, epoch };
}

const FULL: FaultRule = {
  operations: ['write', 'writeAt'],
  fault: { kind: 'fail', code: 'TIERED_NO_SPACE', retryable: false },
};
const BROKEN: FaultRule = {
  operations: ['write', 'create', 'writeAt'],
  fault: { kind: 'fail', code: 'TIERED_IO' },
};

describe('what nobody listens to', () => {
  it('[R2] a tier that was deleted is told in a line, and not again and again', async () => {
    const root = path.join(await temporaryDirectory(), 'tier');
    const { hierarchy, lines, epoch } = await startOn(root, []);
    await hierarchy.open();
    await fs.rm(root, { recursive: true });
    await fs.writeFile(root, 'something else');
    for (let i = 0; i < 5; i++) await epoch();
    expect(lines.length).toBeGreaterThanOrEqual(1);
    expect(lines.length).toBeLessThanOrEqual(3);
    expect(lines[0]).toContain(`tier 0 (fs:${root})`);
    expect(lines[0]).toMatch(/TIERED_[A-Z_]+: /);
    // Who takes the lines shows them to people, who have no events.
    expect(lines.join()).not.toContain('Listen');
    expect(lines.join()).not.toContain('secret');
  });

  it('[Q2] a tier whose disk is full is told in a line', async () => {
    const { hierarchy, lines, epoch } = await startOn(await temporaryDirectory(), [FULL]);
    await hierarchy.open();
    for (let i = 0; i < 3; i++) await epoch();
    expect(lines.filter((line) => line.includes('is full'))).toHaveLength(1);
    expect(lines.length).toBeLessThanOrEqual(3);
  });

  it('[R2] a tier that cannot be opened at start is told in a line, and again after ten minutes', async () => {
    const clock = new ManualClock();
    const rules: FaultRule[] = [
      { operations: ['open', 'openIndex'], fault: { kind: 'fail', code: 'TIERED_UNAVAILABLE' } },
    ];
    const { hierarchy, lines, epoch } = await startOn(await temporaryDirectory(), rules, { clock });
    await hierarchy.open();
    for (let i = 0; i < 3; i++) await epoch();
    expect(lines.filter((line) => line.includes('cannot be used'))).toHaveLength(1);
    await clock.advance(600_000);
    for (let i = 0; i < 3; i++) await epoch();
    expect(lines.filter((line) => line.includes('cannot be used'))).toHaveLength(2);
  });

  it('[R2] a tier whose root is a file, or cannot be made, is told in the words of its driver', async () => {
    const directory = await temporaryDirectory();
    await fs.writeFile(path.join(directory, 'file'), '');
    for (const name of ['file', 'file/cache']) {
      const root = path.join(directory, name);
      const { hierarchy, lines, epoch } = await startOn(root, []);
      await hierarchy.open();
      await epoch();
      expect(lines[0]).toContain(`tier 0 (fs:${root}) cannot be used (TIERED_UNAVAILABLE: `);
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines)
        expect(line).toContain('is missing, or is not a directory; mount or create it');
      expect(lines.join()).not.toContain('deleted');
    }
  });

  it('[M2] a manifest that cannot be read or written is told with its path, and which of both it was', async () => {
    const directory = await temporaryDirectory();
    const [damaged, nowhere] = [path.join(directory, 'damaged'), path.join(directory, 'none', 'manifest')];
    await fs.writeFile(damaged, 'no manifest');
    const told = async (manifest: string) => {
      const { hierarchy, lines } = await startOn(path.join(directory, 'tier'), [], { manifest });
      await hierarchy.open();
      await hierarchy.close();
      return lines;
    };
    const [read = '', ...more] = await told(damaged);
    expect(read).toContain(`the manifest ${damaged} cannot be read (TIERED_DATA_CORRUPT: `);
    expect(more).toEqual([]);
    const [written = '', ...others] = await told(nowhere);
    expect(written).toContain(`the manifest ${nowhere} cannot be written (TIERED_NOT_FOUND: `);
    expect(written).toContain('there is no such directory');
    expect(others).toEqual([]);
  });

  it('is told by process.emitWarning unless said otherwise, ten lines at most', async () => {
    const warnings: Error[] = [];
    const take = (warning: Error) => {
      if (warning.name === 'TieredWarning') warnings.push(warning);
    };
    process.on('warning', take);
    onTestFinished(() => void process.off('warning', take));
    for (let i = 0; i < 15; i++) {
      const { hierarchy, epoch } = await startOn(await temporaryDirectory(), [BROKEN], { warn: undefined });
      await hierarchy.open();
      await epoch();
      await hierarchy.close();
    }
    expect(warnings).toHaveLength(10);
    expect(warnings[0]?.message).toContain('passed over for writes');
    expect(warnings[0]?.message).toContain("Listen to the event 'tierOutOfService'");
  });

  it('is not told where somebody listens', async () => {
    const { hierarchy, lines, epoch } = await startOn(await temporaryDirectory(), [BROKEN]);
    let faults = 0;
    hierarchy.on('tierFault', () => (faults += 1));
    await hierarchy.open();
    await epoch();
    expect(faults).toBeGreaterThan(2);
    expect(lines).toEqual([]);
  });
});
