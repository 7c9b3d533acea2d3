// @ts-check
/**
 * Reads, writes and aborts through the bare functions until so many jobs are over: `node stress.js ADDON
 * JOBS`. Loads nothing else, so that it can run under tools that make everything slow.
 */
import { Buffer } from 'node:buffer';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
// eslint-disable-next-line no-restricted-imports -- it loads nothing else, not even the clock
import { setImmediate } from 'node:timers';

const FILES = 20;
const SIZE = 300_000;
const ABORTED = -10_004;
const TURN = -2;

const [, , addon = '', jobs = '200'] = process.argv;
const functions = /** @type {import('../src/binding.js').Binding} */ (
  createRequire(import.meta.url)(path.resolve(addon))
);
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-native-'));
const keys = Array.from({ length: FILES }, (_, i) => `${i}`);
for (const [i, key] of keys.entries()) fs.writeFileSync(path.join(root, key), Buffer.alloc(SIZE, i));

const shared = new Uint8Array(new SharedArrayBuffer(FILES * SIZE));
/** Each file at once, or in two pieces, the last of which comes first. */
const numbers = Float64Array.from([
  ...keys.flatMap((_, i) => [0, i * SIZE, SIZE, 0, i % 2 === 0 ? 0 : 2]),
  ...keys.flatMap((_, i) => (i % 2 === 0 ? [] : [1000, SIZE - 1000, 0, 1000])),
]);
let [begun, over] = [0, 0];
const now = new Float64Array(2);

/** @param {number} pool */
function begin(pool) {
  const job = begun++;
  functions.readFileNow(pool, `${job % FILES}`, new Uint8Array(SIZE), 0, now);
  if (now[0] !== SIZE) throw new Error('no bytes');
  if (job % 4 === 3) {
    const results = /** @type {const} */ ([new Float64Array(2), new BigUint64Array(100)]);
    const isFixed = job % 8 === 7;
    const part = isFixed ? new Uint8Array(SIZE) : shared.subarray(0, SIZE);
    const options = new Float64Array([0o600, 0, 0, 65_536]);
    functions.writeFile(pool, job, `tmp-${job}\0w`, options, [...results, part], isFixed);
  } else {
    const memory = job % 2 === 1 ? shared : new Uint8Array(FILES * SIZE);
    const results = new Float64Array(2 * FILES + 1).fill(ABORTED);
    functions.readFiles(pool, job, keys.join('\0'), FILES, numbers, [results, memory], job % 3 === 0, false);
  }
  if (job % 5 === 0) functions.abort(pool, job);
}

for (const mayHang of [false, true]) {
  // Threads end soon, so that others are started all the time.
  const pool = functions.open(root, 4, mayHang, 1, (job, _, isOver) => {
    if (job === TURN) setImmediate(() => functions.goOn(pool));
    if (!isOver) return;
    over += 1;
    if (over < Number(jobs)) begin(pool);
  });
  for (let i = 0; i < 3; i++) begin(pool);
}

process.on('exit', () => {
  fs.rmSync(root, { recursive: true });
  console.log(`${over} jobs are over`);
});
