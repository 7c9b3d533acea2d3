import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FrozenDisk, whyNoFrozenDisk } from './frozen-disk.js';

const OBJECTS = 12;
const BYTES = 2_500_000;
const missing = whyNoFrozenDisk();

/** What a process prints that uses a tier whose disk is frozen, and then thawed when `last` was printed. */
async function printed(what: 'driver' | 'hierarchy', native: '0' | '', last: string): Promise<string[]> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-frozen-tier-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  await fs.mkdir(path.join(directory, 'source'));
  for (let i = 0; i < OBJECTS; i++)
    await fs.writeFile(path.join(directory, 'source', `${i}`), Buffer.alloc(BYTES, i));
  const disk = await FrozenDisk.make();
  // Thaws it, also if the process hangs.
  onTestFinished(() => disk.close());
  const script = path.join(import.meta.dirname, 'children/use-frozen-tier.ts');
  const args = ['--conditions=tiered-source', '--import', 'tsx', script, what, directory, disk.path];
  const env = { ...process.env, TIERED_NATIVE: native };
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of readline.createInterface(child.stdout)) {
    lines.push(line);
    if (line === 'ready') await disk.freeze();
    else if (line === last) await disk.thaw();
    else continue;
    child.stdin.write('\n');
  }
  expect(await ended).toEqual([0, null]);
  return lines;
}

describe.skipIf(missing !== undefined && process.env['CI'] !== 'true').each(['', '0'] as const)(
  `while a disk takes no writes, with TIERED_NATIVE=%j (needs: ${missing ?? 'what is here'})`,
  (native) => {
    it('[B2] no call of a driver keeps the event loop, and a thread is left for reads', async () => {
      const lines = await printed('driver', native, 'closed');
      expect(lines.filter((line) => line.startsWith('began'))).toHaveLength(10);
      expect(lines).toEqual(expect.arrayContaining(['tier: 1024', 'source: 1024']));
      expect(lines.slice(-2)).toEqual(['closed', 'ended']);
    });

    it('[B2] [R2] reads go on from the source', async () => {
      const lines = await printed('hierarchy', native, 'read all');
      expect(lines.filter((line) => line.endsWith(`: ${BYTES}`))).toHaveLength(OBJECTS);
    });
  },
);
