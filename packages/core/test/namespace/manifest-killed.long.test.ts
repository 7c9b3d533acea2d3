import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { containerOf, entriesOf, IDENTITY, load, place, save } from './manifests.js';
import { stat } from './namespaces.js';

/** Six sections: three pages of records. */
const COUNT = 100_000;

/**
 * Runs a child that saves, and kills it at a step of that. Whether it was killed, and had not come to its end
 * before.
 */
async function killWhileSaving(file: string, step: number): Promise<boolean> {
  const script = fileURLToPath(new URL('../children/save-and-stop.ts', import.meta.url));
  const args = [script, file, IDENTITY, String(COUNT), String(step)];
  const child = spawn(process.execPath, ['--conditions=tiered-source', '--import', 'tsx', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.once('data', () => child.kill('SIGKILL'));
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect([code, signal]).toEqual(signal === null ? [0, null] : [null, 'SIGKILL']);
  return signal !== null;
}

it('a process killed at any step of a save leaves the old manifest, and the next save clears up after it', async () => {
  const file = await place();
  await save(containerOf([stat('before', 1)]), file);
  const before = await fs.readFile(file);
  let [step, leftovers] = [1, 0];
  for (; await killWhileSaving(file, step); step++) {
    expect(await fs.readFile(file)).toEqual(before);
    leftovers = Math.max(leftovers, (await fs.readdir(path.dirname(file))).length - 1);
  }
  expect(step).toBeGreaterThan(6);
  expect(leftovers).toBe(1);
  expect(await fs.readdir(path.dirname(file))).toEqual(['manifest']);
  expect(entriesOf(await load(file))).toHaveLength(COUNT);
});
