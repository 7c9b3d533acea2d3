import { systemClock } from '@tiered/core';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { IndexClient } from '../../src/index-client.js';
import { IndexWriter, type Leases } from '../../src/store/index-writer.js';

const CLAIMS = 150;

let directory: string;
let clients: IndexClient[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-writer-'));
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  fs.rmSync(directory, { recursive: true, force: true });
});

const leases: Leases = {
  terms: () => ({ wants: 0, spare: 0, hold: 0, overhead: 0 }),
  applied: () => undefined,
  failed: () => undefined,
};

/** A member with a thread and a connection of its own, as another process has. */
async function writerOf(member: string): Promise<IndexWriter> {
  const client = new IndexClient(
    { path: path.join(directory, 'index.db'), durable: true, logPages: 8 },
    'a tier',
  );
  clients.push(client);
  const signal = new AbortController().signal;
  const writer = new IndexWriter(client, member, systemClock, leases, { ended: signal, ending: signal });
  await writer.patiently(() => client.call('open', undefined));
  await writer.patiently(() => client.call('join', { member, quota: 1e9, dataset: 'data' }));
  return writer;
}

it('[T3] writers in tight loops do not starve each other, and no other writer is an error to anybody', async () => {
  const writers = [await writerOf('a'), await writerOf('b'), await writerOf('c')];
  const done = writers.map(() => 0);
  let whenFirstEnded: number[] = [];
  await Promise.all(
    writers.map(async (writer, number) => {
      for (let i = 0; i < CLAIMS; i++) {
        const tag = number * CLAIMS + i;
        const sizes = { size: 1, bytes: 1, occupied: 1 };
        const isDone = await writer.claim({ key: `key ${tag}`, dataset: 1, tag, version: 'v', ...sizes });
        expect(isDone).toBe(true);
        done[number] = i + 1;
      }
      if (whenFirstEnded.length === 0) whenFirstEnded = [...done];
    }),
  );
  expect(done).toEqual([CLAIMS, CLAIMS, CLAIMS]);
  expect(Math.min(...whenFirstEnded), 'what each had done when the first had done all').toBeGreaterThan(0);
});
