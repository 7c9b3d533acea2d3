import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { TableWriter } from '../src/table/writer.js';
import { describeShim, program, temporaryDirectory } from './helpers.js';

const ROUNDS = 20_000;
const SANITIZERS = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];

/** Writes a table, puts other bytes over the first place of some, and returns what a program says of it. */
async function saidOf(bytes: string | number, others: Buffer): Promise<string> {
  const file = path.join(temporaryDirectory(), 'table');
  const table = await TableWriter.create({
    path: file,
    roots: ['/data'],
    tiers: ['/nvme/cache'],
    entries: 1,
  });
  table.publish();
  const whole = fs.readFileSync(file);
  others.copy(whole, typeof bytes === 'number' ? bytes : whole.indexOf(`${bytes}\0`));
  fs.writeFileSync(file, whole);
  const said = execFileSync(await program('probe', SANITIZERS), [file], { input: '', encoding: 'utf8' });
  table.close();
  return said.trim();
}

describeShim('a table that is broken', () => {
  it.each(['/nvme/ab/..', '/nvme/abc/.', '/nvme/../ab', '/nvme//cach', '/nvme/cach/', 'nvme/cache/'])(
    '[I5] is refused if a tier is at %s',
    async (tier) => {
      expect(await saidOf('/nvme/cache', Buffer.from(tier))).toBe('refused: Invalid argument');
    },
  );

  it('[I5] is refused if it is of another version', async () => {
    expect(await saidOf(0, Buffer.from('tieredT1'))).toBe('refused: Invalid argument');
  });

  it('[I5] crashes no program, and leads none to another place', async () => {
    const file = path.join(temporaryDirectory(), 'table');
    const keys = Array.from({ length: 60 }, (_, i) => `Set ${i}/é${'x'.repeat(i)}.jpg`);
    const table = await TableWriter.create({
      path: file,
      roots: ['/data/set', '/other'],
      tiers: ['/nvme/cache', '/dev/shm/tier'],
      entries: keys.length,
    });
    for (const [i, key] of keys.entries()) {
      const entry = table.add(key, 1000 + i);
      if (i % 3 > 0) table.setPlace(entry, { level: i % 2, tag: i * 1_000_003 });
    }
    table.publish();
    const seed = process.env['TIERED_SEED'] ?? '1';
    const input = keys.map((key) => `${key}\0`).join('');
    const said = execFileSync(await program('corrupt', SANITIZERS), [file, seed, String(ROUNDS)], {
      input,
      encoding: 'utf8',
    });
    table.close();
    // Some have to get as far as to look-ups, or nothing was tried.
    const [accepted = 0, found = 0] = said.split(' ').map(Number);
    expect([accepted > ROUNDS / 100, found > ROUNDS]).toEqual([true, true]);
  });
});
