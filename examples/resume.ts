// A training that ends on Ctrl-C and goes on where it stood: exactly the samples that were left, in the same
// order. This program sends the signal to itself, and starts again.
// Run it: node --conditions=tiered-source --import tsx examples/resume.ts
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@tiered/core';
import type { PrefetcherState } from '@tiered/prefetch';
import { openDataset } from 'tiered';

/** Resolves to whether the training is done. */
async function train(source: string, checkpoint: string, signal: AbortSignal): Promise<boolean> {
  await using data = await openDataset({ source, tiers: ['ram:64MiB'] });
  const samples = data.epochs({ seed: 42, epochs: 3, resume: await stateIn(checkpoint), signal });
  try {
    for await (const { key, epoch } of samples) await step(key, epoch);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  } finally {
    // Also where a training keeps its weights. What was taken counts as done.
    await fs.writeFile(checkpoint, JSON.stringify(samples.state()));
  }
}

async function stateIn(checkpoint: string): Promise<PrefetcherState | undefined> {
  try {
    return JSON.parse(await fs.readFile(checkpoint, 'utf8')) as PrefetcherState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const seen: string[] = [];

async function step(key: string, epoch: number): Promise<void> {
  await systemClock.sleep(5);
  seen.push(`${epoch} ${key}`);
  // Somebody presses Ctrl-C in the middle of the second epoch.
  if (seen.length === 14) process.kill(process.pid, 'SIGINT');
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-resume-'));
const source = path.join(directory, 'dataset');
await fs.mkdir(source);
for (let i = 0; i < 10; i++) await fs.writeFile(path.join(source, `${i}`), Buffer.alloc(10_000, i));

for (let run = 1, done = false; !done; run++) {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  // Not once: `npx tsx` sends a signal twice, and the second one would end the process too early.
  process.on('SIGINT', onSignal);
  done = await train(source, path.join(directory, 'checkpoint.json'), stop.signal);
  process.off('SIGINT', onSignal);
  console.log(`run ${run}: ${seen.length} of 30 samples, ${done ? 'done' : 'stopped by a signal'}`);
}
assert.equal(seen.length, 30);
assert.equal(new Set(seen).size, 30);
await fs.rm(directory, { recursive: true });
