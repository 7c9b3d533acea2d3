import { DerivedDriver } from '@tiered/loader';
import { openSamples } from '@tiered/formats';
import { describe, expect, it } from 'vitest';
import { grouped, RECORD } from './formats.js';
import { hierarchyOf, loaderOf, namesOf, singles } from './helpers.js';

/** A function of the user's that never ends. It says when it was called. */
function hanging(): { readonly called: Promise<void>; readonly never: () => Promise<never> } {
  let tell: () => void = () => undefined;
  const called = new Promise<void>((resolve) => (tell = resolve));
  return {
    called,
    never: () => {
      tell();
      return new Promise(() => undefined);
    },
  };
}

const WAYS = ['transform', 'collate', 'decode'] as const;

/** A loader of which one function never ends, in this thread. */
async function loaderThatHangs(
  way: (typeof WAYS)[number],
  never: () => Promise<never>,
  signal?: AbortSignal,
) {
  const format = way === 'decode' ? { ...grouped(2), decode: never } : grouped(2);
  const samples = await openSamples(await hierarchyOf([6]), { format });
  return loaderOf(samples, { batchSize: 2, signal, ...(way !== 'decode' && { [way]: never }) });
}

describe.each(WAYS)('%s that never ends, in this thread', (way) => {
  it('[D5] is left by close, and so are calls that wait for it', async () => {
    const { called, never } = hanging();
    const loader = await loaderThatHangs(way, never);
    const outcome = expect(namesOf(loader)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await called;
    await loader.close();
    await outcome;
  });

  it('[D5] is left by an abort, whose reason comes out of the loop', async () => {
    const { called, never } = hanging();
    const controller = new AbortController();
    const loader = await loaderThatHangs(way, never, controller.signal);
    const outcome = expect(namesOf(loader)).rejects.toBe('enough');
    await called;
    controller.abort('enough');
    await outcome;
  });
});

it('[D5] a loop over an epoch can be left while another batch is made that never ends', async () => {
  const { called, never } = hanging();
  const transform = (bytes: Uint8Array, { sample }: { readonly sample: number }) =>
    sample === 0 ? bytes : never();
  const options = { batchSize: 1, shuffle: false, ahead: 2, transform } as const;
  const loader = loaderOf(await singles([3]), options);
  for await (const { index } of loader.epoch()) {
    expect(index).toBe(0);
    await called;
    break;
  }
  await loader.close();
});

it('[D5] a derived driver that is closed ends reads whose transform never ends', async () => {
  const { called, never } = hanging();
  const transform = { name: 'never', version: '1', make: never };
  const driver = new DerivedDriver({ samples: await singles([3]), transform, bytes: RECORD });
  await driver.open({});
  const reading = driver.read('0000#0', { offset: 0, length: RECORD });
  const outcome = expect(reading).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  await called;
  const late = expect(driver.read('0000#1', { offset: 0, length: RECORD })).rejects.toMatchObject({
    code: 'TIERED_NOT_OPEN',
  });
  await driver.close();
  await Promise.all([outcome, late]);
});
