import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { NumberLocks } from '../src/index.js';
import { describeNative, openFiles, temporaryDirectory } from './helpers.js';

const CHILD = path.join(import.meta.dirname, 'children/takes-number.ts');
/** Beyond what 32 bits hold, and as large as it may be. */
const NUMBERS = [0, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER] as const;

async function opened(file: string): Promise<NumberLocks> {
  const locks = await NumberLocks.open(file);
  onTestFinished(() => locks.close());
  return locks;
}

describeNative('locks of numbers', () => {
  it('are of one who has opened the file, until it lets go or closes', async () => {
    const file = path.join(temporaryDirectory(), 'locks');
    const [one, other] = [await opened(file), await opened(file)];
    for (const number of NUMBERS) {
      expect(one.take(number)).toBe(true);
      expect(one.take(number)).toBe(true);
      expect([other.take(number), other.share(number), other.isTaken(number)]).toEqual([false, false, true]);
      expect(one.isTaken(number)).toBe(false);
    }
    one.release(NUMBERS[1]);
    expect(NUMBERS.map((number) => other.take(number))).toEqual([false, true, false]);
    await one.close();
    expect(NUMBERS.map((number) => other.take(number))).toEqual([true, true, true]);
  });

  it('can be shared, and a shared one is not had alone', async () => {
    const file = path.join(temporaryDirectory(), 'locks');
    const [one, other] = [await opened(file), await opened(file)];
    expect([one.share(7), other.share(7), other.take(7), one.isTaken(7)]).toEqual([true, true, false, true]);
    one.release(7);
    expect([other.take(7), one.isTaken(7)]).toEqual([true, true]);
  });

  it('end with their process, however that ends', async () => {
    const file = path.join(temporaryDirectory(), 'locks');
    const arguments_ = ['--conditions=tiered-source', '--import', 'tsx', CHILD, file, '5'];
    const child = spawn(process.execPath, arguments_, { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(String(said).trim()).toBe('true');
    const locks = await opened(file);
    expect(locks.take(5)).toBe(false);
    child.kill('SIGSTOP');
    expect(locks.take(5)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(locks.take(5)).toBe(true);
  });

  it('leave an empty file of the owner’s, and no descriptor', async () => {
    const file = path.join(temporaryDirectory(), 'locks');
    {
      await using locks = await NumberLocks.open(file);
      locks.take(2 ** 50);
    }
    const { size, blocks, mode } = fs.statSync(file);
    expect({ size, blocks, mode: mode & 0o777 }).toEqual({ size: 0, blocks: 0, mode: 0o600 });
    expect(openFiles().filter((name) => name === file)).toEqual([]);
  });

  it('say what is wrong', async () => {
    const locks = await opened(path.join(temporaryDirectory(), 'locks'));
    for (const number of [-1, 0.5, NaN, 2 ** 53]) expect(() => locks.take(number)).toThrow(RangeError);
    await locks.close();
    const closed = { code: 'EBADF', syscall: 'lock' };
    expect(() => locks.take(1)).toThrow(expect.objectContaining(closed));
    expect(() => locks.isTaken(1)).toThrow(expect.objectContaining(closed));
    await expect(NumberLocks.open('/nowhere/locks')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
