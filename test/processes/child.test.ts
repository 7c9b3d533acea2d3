import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Child } from './child.js';
import type { Place } from './place.js';

let directory: string;
let program: string;
let place: Place;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-child-'));
  program = path.join(directory, 'program.mjs');
  fs.writeFileSync(program, `process.on('message', () => {});`);
  place = { directory, quota: 1, policy: 'lru' };
});

afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

it.each([false, true])(
  'a process that is killed before it has begun, or after its end, ends alone (in a container: %s)',
  async (inContainer) => {
    // Nothing runs in the container yet: the number of what does is none.
    const child = new Child(program, place, { inContainer });
    await child.kill();
    await child.kill();
    expect((await child.exited)[0]).not.toBe(0);
    expect(() => child.signal('SIGSTOP')).toThrow();
  },
);
