import { ManualClock } from '@tiered/core/testing';
import { mergeTraces, readTrace, traceLine, type TraceEntry } from '@tiered/interpose';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Recorder } from '../src/replay/recorder.js';
import { temporaryDirectory } from './helpers.js';

const KEYS = ['a\u2028b', '\u2029', 'c\u2028\u2029\\u2028', 'd'];

function recorded(keys: readonly string[]): string {
  const file = path.join(temporaryDirectory(), 'trace');
  fs.writeFileSync(file, keys.map((key, seconds) => traceLine({ seconds, key })).join(''));
  return file;
}

async function taken(entries: AsyncIterable<TraceEntry>): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of entries) keys.push(key);
  return keys;
}

/** How often this process has a file open. */
function opensOf(file: string): number {
  return fs.readdirSync('/proc/self/fd').filter((one) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${one}`) === file;
    } catch {
      // That of the directory itself.
      return false;
    }
  }).length;
}

describe('a trace', () => {
  it('has keys with ends of lines that JSON leaves as they are', async () => {
    expect(await taken(readTrace(recorded(KEYS)))).toEqual(KEYS);
    expect(traceLine({ seconds: 1, key: 'a\u2028' })).toBe('[1,"a\\u2028"]\n');
  });

  it.runIf(process.platform === 'linux')(
    'is closed when it is left early, also where several are merged',
    async () => {
      // So long that they have not been read to their ends by then, when they would be closed.
      const keys = Array.from({ length: 50_000 }, (_, i) => `images/${i}.jpg`);
      const files = [recorded(keys), recorded(keys)];
      for await (const { key } of mergeTraces(files.map(readTrace))) {
        expect([key, ...files.map(opensOf)]).toEqual([keys[0], 1, 1]);
        break;
      }
      expect(files.map(opensOf)).toEqual([0, 0]);
      const missing = path.join(temporaryDirectory(), 'missing');
      await expect(taken(mergeTraces([...files, missing].map(readTrace)))).rejects.toMatchObject({
        code: 'ENOENT',
      });
      expect(files.map(opensOf)).toEqual([0, 0]);
    },
  );

  it('ends early where the disk is full: that is said once, and ends nothing else', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => {
      if (warning.name === 'TieredWarning') warnings.push(warning);
    };
    process.on('warning', listen);
    onTestFinished(() => void process.off('warning', listen));
    const stream = fs.createWriteStream('/dev/full');
    const recorder = new Recorder(stream, '/traces/one', new ManualClock());
    for (const key of KEYS) recorder.opened(key);
    await new Promise<void>((resolve) => stream.once('close', resolve));
    recorder.opened('later');
    await recorder.close();
    expect(recorder.lost).toBe(KEYS.length + 1);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^The trace \/traces\/one ends early: ENOSPC/),
    ]);
  });
});
