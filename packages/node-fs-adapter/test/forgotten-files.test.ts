import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { closeFile } from '../src/write/file-writes.js';
import { OpenFiles, type OpenFile } from '../src/root/open-files.js';
import { temporaryDirectory } from './helpers.js';

/**
 * A read of one of two keys: when it comes, how long its file takes to open, and how long it is used, in
 * microtasks.
 */
interface Reading {
  readonly key: 'gone' | 'other';
  readonly from: number;
  readonly opening: number;
  readonly using: number;
  readonly fails: 'never' | 'before opening' | 'after opening' | 'in use';
}

const reading: fc.Arbitrary<Reading> = fc.record({
  key: fc.constantFrom('gone', 'gone', 'other'),
  from: fc.nat(12),
  opening: fc.nat(8),
  using: fc.nat(12),
  fails: fc.constantFrom('never', 'never', 'never', 'before opening', 'after opening', 'in use'),
});

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

const MOST = 5;

/**
 * One opening of a file. Each has a file of its own, so that its descriptor is known from one with the same
 * number.
 */
class Opening {
  readonly #path: string;
  #isUnderWay = true;
  #fd: number | undefined;

  readonly key: string;

  constructor(directory: string, number: number, key: string) {
    this.key = key;
    this.#path = path.join(directory, `${number}`);
  }

  async run({ opening, fails }: Reading): Promise<number> {
    try {
      await microtasks(opening);
      if (fails === 'before opening') throw new Error(fails);
      const fd = fs.openSync(this.#path, 'r');
      await microtasks(opening);
      if (fails !== 'after opening') return (this.#fd = fd);
      fs.closeSync(fd);
      throw new Error(fails);
    } finally {
      this.#isUnderWay = false;
    }
  }

  /** Whether the file is open, as the kernel says, or about to be. */
  get isHeld(): boolean {
    if (this.#fd === undefined) return this.#isUnderWay;
    try {
      return fs.fstatSync(this.#fd).ino === fs.statSync(this.#path).ino;
    } catch {
      return false;
    }
  }
}

/** Reads files as told, and knows which of them are open. */
class Readings {
  readonly files: OpenFiles;
  readonly #directory: string;
  readonly #openings: Opening[] = [];

  constructor(directory: string, max: number) {
    this.#directory = directory;
    this.files = new OpenFiles(max, closeFile);
  }

  async read(one: Reading): Promise<void> {
    const { key, from, using, fails } = one;
    await microtasks(from);
    const open = async () => {
      const opening = new Opening(this.#directory, this.#openings.length, key);
      this.#openings.push(opening);
      return { fd: await opening.run(one), version: undefined, isVerified: false };
    };
    const work = async ({ fd }: OpenFile) => {
      await microtasks(using);
      expect(fs.readSync(fd, Buffer.alloc(1), 0, 1, 0)).toBe(1);
      if (fails === 'in use') throw new Error(fails);
    };
    await this.files.use(key, open, work).catch((error: unknown) => {
      if (fails === 'never') throw error;
    });
  }

  /** What is open of a key at this moment. */
  held(key: string): Opening[] {
    return this.#openings.filter((opening) => opening.key === key && opening.isHeld);
  }
}

it('[Q1] a file that is forgotten at any instant is said to be closed when none of its readers has it open any more', async () => {
  const directory = await temporaryDirectory();
  onTestFinished(() => fs.rmSync(directory, { recursive: true }));
  for (let i = 0; i < MOST; i++) fs.writeFileSync(path.join(directory, `${i}`), 'bytes');
  await fc.assert(
    fc.asyncProperty(
      fc.array(reading, { minLength: 1, maxLength: MOST }),
      fc.array(fc.nat(50), { minLength: 1, maxLength: 2 }),
      fc.integer({ min: 1, max: 2 }),
      async (all, instants, max) => {
        const readings = new Readings(directory, max);
        const forgetting = instants.map(async (instant) => {
          await microtasks(instant);
          const before = readings.held('gone');
          await readings.files.forgotten('gone');
          expect(before.filter(({ isHeld }) => isHeld)).toEqual([]);
        });
        await Promise.all([...all.map((one) => readings.read(one)), ...forgetting]);
        await readings.files.close();
        expect(readings.files.count).toBe(0);
      },
    ),
    { numRuns: 2000 },
  );
});
