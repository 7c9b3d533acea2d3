import { ManualClock, settled } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { Waits, type ProgramWait } from '../src/daemon/waits.js';

/** Waits, and what was said of them. */
function watched() {
  const clock = new ManualClock();
  const said: ProgramWait[] = [];
  return { clock, said, waits: new Waits(clock, (wait) => said.push(wait)) };
}

/** A wait that ends when it is told to. */
function begin(waits: Waits, key: string): { readonly end: () => Promise<void> } {
  let end = () => {};
  const ended = waits.during(key, () => new Promise<void>((resolve) => (end = resolve)));
  return {
    end: () => {
      end();
      return ended;
    },
  };
}

it('a wait is told after 3 seconds, and again every 10 seconds until it ends', async () => {
  const { clock, said, waits } = watched();
  const first = begin(waits, 'a');
  await clock.advance(2999);
  expect(said).toEqual([]);
  const second = begin(waits, 'b');
  await clock.advance(1);
  expect(said).toEqual([{ key: 'a', ms: 3000, count: 2 }]);
  await first.end();
  await clock.advance(9999);
  expect(said).toHaveLength(1);
  await clock.advance(1);
  expect(said.slice(1)).toEqual([{ key: 'b', ms: 10_001, count: 1 }]);
  await second.end();
  await clock.advance(60_000);
  expect(said).toHaveLength(2);
});

it('waits that are short are not told, however many there are, nor is one after the close', async () => {
  const { clock, said, waits } = watched();
  for (let i = 0; i < 10; i++) {
    const wait = begin(waits, String(i));
    await clock.advance(2000);
    await wait.end();
  }
  const last = begin(waits, 'last');
  waits.close();
  await clock.advance(60_000);
  await last.end();
  await settled();
  expect(said).toEqual([]);
});

it('what was waited for comes out, and an error too', async () => {
  const { waits } = watched();
  expect(await waits.during('a', () => Promise.resolve(7))).toBe(7);
  await expect(waits.during('a', () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
});
