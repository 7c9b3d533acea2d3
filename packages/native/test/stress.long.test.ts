import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { compile } from '../src-c/compile.js';
import { describeNative } from './helpers.js';

const STRESS = path.join(import.meta.dirname, '../src-c/stress.js');
const JOBS = 600;

describeNative('jobs of all kinds, many of them aborted', () => {
  it('are all over at some time, whatever is told in this turn of the event loop or the next', async () => {
    const addon = process.env['TIERED_NATIVE'] ?? (await compile());
    const { stdout } = await promisify(execFile)(process.execPath, [STRESS, addon, `${JOBS}`]);
    expect(Number.parseInt(stdout)).toBeGreaterThanOrEqual(JOBS);
  });
});
