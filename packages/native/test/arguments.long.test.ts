import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '@tiered/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Binding } from '../src/binding.js';
import { binding } from '../src/load.js';
import { describeNative, targetOf, temporaryDirectory, until } from './helpers.js';

/** Makes what has a getter, a proxy, or a buffer that is gone. */
function oddities(): unknown[] {
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const throwing = Object.defineProperty([], 0, {
    get: () => {
      throw new RangeError('from a getter');
    },
  });
  throwing.length = 3;
  return [
    detached,
    new Float64Array(0),
    new BigUint64Array(4),
    new DataView(new ArrayBuffer(8)),
    new SharedArrayBuffer(8),
    throwing,
    new Proxy([], {}),
    new Proxy(new Uint8Array(8), {}),
    Object.create(Uint8Array.prototype),
    () => undefined,
    Symbol('odd'),
  ];
}

const number = fc.oneof(
  fc.constantFrom(
    0,
    1,
    -1,
    0.5,
    NaN,
    Infinity,
    -Infinity,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    2 ** 53 - 1,
    2 ** 63,
    -0,
    1e300,
  ),
  fc.nat(8),
);
const numbers = fc
  .tuple(fc.array(number, { maxLength: 12 }), fc.constantFrom(0, 4, 8))
  .map(([some, zeros]) => Float64Array.from([...some, ...new Array<number>(zeros).fill(0)]));
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc
    .array(fc.constantFrom('file', '', '..', 'a', '/a', '0-0-0', '\ud800', '.', 'directory/x'), {
      maxLength: 6,
    })
    .map((all) => all.join('\0')),
);
const memory = fc.oneof(
  fc.nat(40).map((length) => targetOf(length, true)),
  fc.nat(40).map((length) => targetOf(length, false)),
  fc.constantFrom(...oddities()),
);
const results = fc.oneof(
  fc.nat(40).map((length) => new Float64Array(length)),
  fc.nat(40).map((length) => new BigUint64Array(length)),
);
const keep = fc.oneof(
  fc
    .tuple(results, fc.array(fc.oneof(memory, results), { maxLength: 4 }))
    .map(([first, rest]) => [first, ...rest]),
  fc.tuple(results, results, fc.array(memory, { maxLength: 4 })).map(([a, b, rest]) => [a, b, ...rest]),
);
const anything = fc.oneof(
  number,
  numbers,
  text,
  keep,
  memory,
  fc.boolean(),
  fc.anything(),
  fc.constantFrom(...oddities()),
);

/** Where to: no directory that must not be written. */
const ROOT_PLACE = 'ROOT';
const pool = fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) });
const job = fc.nat(1000);
const noCallback = fc.constant(() => undefined);
const length = fc.nat(8);
const usualMemory = fc.boolean().map((isShared) => targetOf(8, isShared));
const fd = fc.constantFrom(-1, 0, 1e6, 2 ** 31);

/** Reads that can be made. */
const reads = fc.array(
  fc.tuple(
    fc.constantFrom('file', 'none', 'directory', '..'),
    fc.constantFrom('', '0-0-0'),
    fc.nat(1),
    length,
    fc.nat(9),
  ),
  { minLength: 1, maxLength: 4 },
);
const usualReads = fc.tuple(reads, usualMemory, usualMemory).map(([all, first, second]) => ({
  texts: [...all.map(([key]) => key), ...all.map(([, version]) => version)].join('\0'),
  count: all.length,
  numbers: Float64Array.from([
    ...all.flatMap(([, , which, bytes, offset]) => [which, 8 - bytes, bytes, offset, offset % 3]),
    // Every third has no pieces, and every third two.
    ...all.flatMap(([, , , bytes, offset]) => [[], [0, bytes], [1, bytes, 0, 0]][offset % 3] ?? []),
  ]),
  keep: [new Float64Array(8), first, second],
}));

const CALLS = fc.oneof(
  call(
    'open',
    fc.tuple(
      fc.constantFrom(ROOT_PLACE, '/none', '', 'x', 'a\0', 1),
      fc.nat(5),
      fc.boolean(),
      fc.nat(9),
      noCallback,
    ),
  ),
  call('stop', fc.tuple(pool.filter((id) => id > 0))),
  call('release', fc.tuple(pool.filter((id) => id > 0))),
  call('setThreads', fc.tuple(pool, fc.nat(5))),
  call('counts', fc.tuple(pool, numbers)),
  call('abort', fc.tuple(pool, job)),
  call(
    'readFiles',
    fc
      .tuple(pool, job, usualReads, fc.boolean())
      .map(([to, id, all, tells]) => [to, id, all.texts, all.count, all.numbers, all.keep, tells, false]),
  ),
  call('readFiles', fc.tuple(pool, job, text, number, numbers, keep, fc.boolean(), fc.constant(false))),
  call(
    'readPiece',
    fc.tuple(
      pool,
      job,
      fd,
      length,
      fc.constantFrom('', '0-0-0'),
      usualMemory.map((memory) => [new Float64Array(3), memory]),
      fc.constant(false),
    ),
  ),
  call(
    'openFile',
    fc.tuple(
      pool,
      job,
      fc.constantFrom('file', 'none', 'directory', '..', 'file\0'),
      results.map((room) => [room]),
    ),
  ),
  call('readFile', fc.tuple(pool, job, text, number, keep, fc.constant(false))),
  call('readFileNow', fc.tuple(pool, text, memory, number, numbers)),
  call(
    'writeFile',
    fc
      .tuple(pool, job, fc.nat(9), length, fc.array(usualMemory, { maxLength: 3 }))
      .map(([to, id, name, every, parts]) => [
        ...[to, id, `${name}\0to-${name}`, new Float64Array([0o600, name & 1, (name >> 1) & 1, every])],
        [new Float64Array(2), new BigUint64Array(24), ...parts],
        false,
      ]),
  ),
  // Nothing that gets a byte of a socket: it could be one of the test's own.
  call('makeMemory', fc.tuple(fc.constantFrom(0, 0.5, 2 ** 31))),
  call('mapMemory', fc.tuple(fd, length)),
  call('emptyMemory', fc.tuple(usualMemory.map(({ buffer }) => buffer))),
  call('detachMemory', fc.tuple(usualMemory.map(({ buffer }) => buffer))),
  call('connectTo', fc.tuple(fc.constantFrom('/none', '', 'a\0', 'x'.repeat(200)), usualMemory)),
  call('userBehind', fc.tuple(fd)),
);

/** A call that can be made, or the same with something else in the place of an argument, or fewer of them. */
function call(name: keyof Binding, usual: fc.Arbitrary<unknown[]>): fc.Arbitrary<[keyof Binding, unknown[]]> {
  const change = fc.record({ at: fc.nat(12), to: anything, left: fc.nat(30) });
  return fc.tuple(usual, change).map(([values, { at, to, left }]) => {
    const changed = values.map((value, i) => (i === at ? to : value));
    return [name, left < changed.length ? changed.slice(0, left) : changed];
  });
}

/** Whether it is an error that arguments may lead to. */
function isExpected(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return ['EBUSY', 'EAGAIN'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function releaseAll(functions: Binding): void {
  for (let id = 0; id < 64; id++) {
    try {
      functions.release(id);
    } catch {
      // It is none.
    }
  }
}

describeNative('the bare functions', () => {
  it('throw or work, whatever they are given, and still work after it', async () => {
    const root = temporaryDirectory();
    fs.mkdirSync(path.join(root, 'directory'));
    fs.writeFileSync(path.join(root, 'file'), 'content');
    const functions = binding();
    const open = () => functions.open(root, 2, false, 1000, () => undefined);
    await fc.assert(
      fc.asyncProperty(fc.array(CALLS, { minLength: 10, maxLength: 40 }), async (calls) => {
        open();
        for (const [name, values] of calls) {
          const given = values.map((value) => (value === ROOT_PLACE ? root : value));
          // What is opened elsewhere must not be written to.
          if (
            name === 'open' &&
            typeof given[0] === 'string' &&
            given[0].startsWith('/') &&
            given[0] !== root
          )
            given[0] = '/none';
          try {
            Reflect.apply(Reflect.get(functions, name) as (...all: unknown[]) => unknown, undefined, given);
          } catch (error) {
            expect(isExpected(error), `${name}: ${String(error)}`).toBe(true);
          }
        }
        await systemClock.turn();
        releaseAll(functions);
      }),
      { numRuns: 1500 },
    );
    await until(() => functions.live() === 0);
  });
});
