import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { FROM_SOURCES } from './from-sources.js';

const PROGRAM = fileURLToPath(new URL('./memory/read-large.ts', import.meta.url));
const MIB = 2 ** 20;

/** What JavaScript itself takes for it. */
const SLACK = 64 * MIB;

/** Reads files of these sizes in a process of its own; its memory before that does not count. */
async function grownBy(way: string, sizes: readonly number[], memory: number) {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true, force: true }));
  const args = [...FROM_SOURCES, PROGRAM, directory, way, JSON.stringify(sizes), String(memory)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as { readonly bytes: number; readonly grown: number };
}

const rising = Array.from({ length: 12 }, (_, i) => (40 + 6 * i) * MIB);
const alike = Array.from({ length: 24 }, () => 30 * MIB);
const small = Array.from({ length: 2400 }, () => MIB / 4);
const sum = (sizes: readonly number[]) => sizes.reduce((all, size) => all + size, 0);

it.each([
  { way: 'one by one', what: 'objects larger than it', sizes: alike, memory: 16 * MIB, held: 0 },
  { way: 'one by one', what: 'objects of many sizes', sizes: rising, memory: 16 * MIB, held: 0 },
  { way: 'one by one', what: 'memory for one object', sizes: alike, memory: 32 * MIB, held: 0 },
  { way: 'in batches', what: 'consumers that hold more', sizes: alike, memory: 16 * MIB, held: 4 * 30 * MIB },
  { way: 'many at a time', what: 'small objects', sizes: small, memory: MIB, held: 100 * MIB },
  { way: 'in windows', what: 'windows', sizes: alike, memory: 16 * MIB, held: 16 * MIB + 4 * MIB },
])('[P2] a process takes memory for no more than it holds: $what', async ({ way, sizes, memory, held }) => {
  const { bytes, grown } = await grownBy(way, sizes, memory);
  expect(bytes).toBeGreaterThanOrEqual(0.99 * sum(sizes));
  expect(grown).toBeLessThanOrEqual(memory + held + Math.max(...sizes) + SLACK);
});

it('[P2] prefetchers that follow each other have the same memory', async () => {
  const sizes = Array.from({ length: 16 }, () => MIB);
  const { bytes, grown } = await grownBy('with new prefetchers', sizes, 16 * MIB);
  expect(bytes).toBe(20 * sum(sizes));
  expect(grown).toBeLessThanOrEqual(16 * MIB + MIB + SLACK);
});
