import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader, type EpochFigures, type LoaderFigures } from '@tiered/loader';
import fc from 'fast-check';
import { reportPage } from 'tiered/page';
import { describe, expect, it } from 'vitest';

const MIB = 2 ** 20;

/** Figures of an epoch of which this part was waited, and what each level gave. */
function epochFigures(
  epoch: number,
  {
    seconds = 10,
    waited = 0,
    what = 'training',
    text = `text of ${epoch}`,
    bytes = [0, 0],
  }: {
    seconds?: number;
    waited?: number;
    what?: string;
    text?: string;
    bytes?: readonly number[];
  } = {},
): EpochFigures {
  const levels = bytes.map((given, i) => ({
    driver: i === bytes.length - 1 ? 's3' : `disk`,
    reads: 10,
    bytes: given,
  }));
  const reading = { seconds, starved: waited / seconds, levels, limits: { memoryBytes: 256 * MIB } };
  return {
    epoch,
    batches: 10,
    samples: 50_000,
    seconds,
    waitedSeconds: waited,
    reading: reading as unknown as EpochFigures['reading'],
    limit: { what: what as 'training', text },
  };
}

/** Of 50,000 samples of 100 kB: 5 GB, of which a tier has room for half. */
function figuresWith(changes: Partial<LoaderFigures> = {}): LoaderFigures {
  return {
    samples: 50_000,
    bytes: 5e9,
    batchSize: 100,
    batchesPerEpoch: 10,
    rank: 0,
    ranks: 1,
    workers: 0,
    order: 'all 50,000 samples of an epoch shuffled',
    shuffleQuality: 1,
    epochs: [
      epochFigures(0, { seconds: 50, waited: 45, what: 'source bandwidth', bytes: [0, 5e9] }),
      epochFigures(1, { seconds: 30, waited: 25, what: 'source bandwidth', bytes: [2.5e9, 2.5e9] }),
    ],
    skipped: 0,
    source: { givenBytes: 7.6e9, leastBytes: 7.5e9, epochs: 2 },
    tiers: [{ driver: 'disk', quotaBytes: 2.5e9 }],
    ...changes,
  };
}

/** A source of 100 MB/s, and a tier of 1,000 MB/s. */
const PROFILE = {
  version: 1 as const,
  objectBytes: 100_000,
  source: {
    name: 's3',
    read: {
      points: [
        [1, 20],
        [8, 100],
      ] as [number, number][],
    },
  },
  tiers: [{ name: 'disk', read: { points: [[1, 1000]] as [number, number][] } }],
};

/** The tags of a page, without what is in their attributes. */
function tagsOf(page: string): string[] {
  return page.match(/<[^>]*>/g)?.map((tag) => tag.replace(/"[^"]*"/g, '')) ?? [];
}

/** The cells of the row with this name. */
function rowOf(page: string, name: string): string[] {
  const [, cells = ''] = new RegExp(`<th scope="row">${name}</th>([^]*?)</tr>`).exec(page) ?? [];
  return [...cells.matchAll(/<td>(.*?)<\/td>/g)].map(([, cell = '']) => cell);
}

/** Replaces every text of something. */
function withTexts<T>(given: T, text: string): T {
  const json = JSON.stringify(given, (_, value: unknown) => (typeof value === 'string' ? text : value));
  return JSON.parse(json) as T;
}

describe('the page of a loader', () => {
  it('has three pictures, the words, a table, and the advice of each epoch', async () => {
    const page = await reportPage(figuresWith(), { title: 'Training 7' });
    expect(page.match(/<svg /g)).toHaveLength(3);
    expect(page).toContain('<title>Training 7</title>');
    expect(page).toContain('epoch 1: 10 batches, 50,000 samples in 30.0 s');
    expect(rowOf(page, '1')).toEqual([
      '10',
      '50,000',
      '30 s',
      '25 s',
      '1,667',
      '2.3 GiB',
      '2.3 GiB',
      'source bandwidth',
    ]);
    expect(page).toContain('tier 0: disk');
    expect(page).toContain('<strong>Epochs 0 to 1</strong>: text of 1');
    expect(page).not.toMatch(/<script|<link|src=|@import|url\((?!#)/);
  });

  it('begins with the verdict, and has the hit ratio as a tile', async () => {
    const page = await reportPage(figuresWith());
    const takeaway =
      'In epoch 1 the training waited 83 % of the time for batches, and 50 % of its bytes came from tiers. The limit: source bandwidth.';
    expect(page).toContain(`<p class="takeaway">${takeaway}</p>`);
    expect(page).toMatch(/<b>50 %<\/b><span>hit ratio<\/span><small>bytes from tiers, epoch 0: 0 %<\/small>/);
    const places = ['class="takeaway"', 'class="tiles"', '<svg'].map((part) => page.indexOf(part));
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it('shows what a source gave beside what it gives from empty tiers', async () => {
    const source = { givenBytes: 44 * 2 ** 20, leastBytes: 74 * 2 ** 20, epochs: 2 };
    const page = await reportPage(figuresWith({ source }));
    expect(page).toContain('it gave 44 MiB');
    expect(page).toContain('from empty tiers: 74 MiB');
    expect(page).not.toContain('least: 74');
  });

  it('leaves out pictures of what was not measured', async () => {
    const none = await reportPage(figuresWith({ epochs: [], source: undefined }));
    expect(none).not.toContain('<svg');
    expect(none).toContain('No batch was given yet.');
    const epochs = [epochFigures(0, { bytes: [] })];
    const unknown = await reportPage(figuresWith({ epochs, source: undefined }));
    expect(unknown.match(/<svg /g)).toHaveLength(1);
  });

  it('is made of what a loader measured, also when that was kept as JSON', async () => {
    const source = new MemoryDriver();
    await source.write('shard', new Uint8Array(800), { size: 800 });
    await using hierarchy = await new Hierarchy({ source }).open();
    const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 8 }) });
    const loader = new DataLoader(samples, { batchSize: 8, epochs: 2, seed: 1 });
    for await (const { size } of loader) expect(size).toBeGreaterThan(0);
    const figures = loader.figures();
    const page = await reportPage(figures);
    expect(page.match(/<svg /g)).toHaveLength(3);
    expect(await reportPage(JSON.parse(JSON.stringify(figures)) as LoaderFigures)).toBe(page);
  });

  it('has text where names have markup', async () => {
    const piece = fc.constantFrom(
      '<script>',
      '</',
      '"',
      "'",
      '&lt;',
      '<!--',
      ']]>',
      '{{',
      '\n',
      '>',
      '&',
      'x',
      '\u2028',
    );
    const hostile = fc.oneof(
      fc.array(piece).map((pieces) => pieces.join('')),
      fc.string({ unit: 'binary' }),
    );
    const figures = figuresWith({ samples: 100 });
    // What is not steady is named.
    const profile = { ...PROFILE, source: { ...PROFILE.source, spread: { read: 3 } } };
    const pageWith = (text: string) =>
      reportPage(withTexts(figures, text), { title: text, profile: withTexts(profile, text) });
    const plain = await pageWith('x');
    const tags = tagsOf(plain);
    expect(plain).toContain('x: one try at');
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        expect(tagsOf(await pageWith(text))).toEqual(tags);
      }),
      { numRuns: 15 },
    );
  });
});

describe('what would change an epoch, with a profile', () => {
  it('is what the simulator computes for each change', async () => {
    const page = await reportPage(figuresWith(), { profile: PROFILE });
    // 5 GB at 100 MB/s, then half of it; 5 s of computing in each.
    expect(rowOf(page, 'as it is')).toEqual(['50 s', '25 s', '7 GiB']);
    expect(rowOf(page, 'tier 0 with twice the room: 4.7 GiB')).toEqual(['50 s', '5 s', '4.7 GiB']);
    expect(rowOf(page, 'tier 0 with room for all samples: 4.7 GiB')).toEqual(['50 s', '5 s', '4.7 GiB']);
    expect(rowOf(page, 'twice the source&#39;s throughput')).toEqual(['25 s', '13 s', '7 GiB']);
    expect(rowOf(page, 'a training twice as fast')).toEqual(['50 s', '25 s', '7 GiB']);
    expect(page).toContain('Measured: epoch 0 50 s, epoch 1 30 s.');
    expect(page).toContain('Computing takes 0.10 ms a sample');
  });

  it('has a faster training where computing is the limit', async () => {
    const epochs = [epochFigures(0, { seconds: 500 }), epochFigures(1, { seconds: 500 })];
    const page = await reportPage(figuresWith({ epochs }), { profile: PROFILE });
    expect(rowOf(page, 'as it is')[1]).toBe('500 s');
    expect(rowOf(page, 'a training twice as fast')[1]).toBe('250 s');
  });

  it('has the source shared by the ranks', async () => {
    const page = await reportPage(figuresWith({ ranks: 2, source: undefined }), { profile: PROFILE });
    expect(rowOf(page, 'as it is')[0]).toBe('50 s');
    expect(page).toContain('2 ranks share the source');
  });

  it('is not simulated where there is nothing to simulate, and the page says why', async () => {
    const without = await reportPage(figuresWith({ tiers: undefined }), { profile: PROFILE });
    expect(without).toContain('Nothing was simulated: the samples are in several hierarchies');
    const early = await reportPage(figuresWith({ epochs: [] }), { profile: PROFILE });
    expect(early).toContain('Nothing was simulated: no epoch was measured yet.');
    expect(early).not.toContain('as it is');
  });

  it('refuses a profile of other tiers, or none, and ends with its signal', async () => {
    const invalid = { code: 'TIERED_CONFIG_INVALID' };
    await expect(reportPage(figuresWith({ tiers: [] }), { profile: PROFILE })).rejects.toMatchObject(invalid);
    await expect(reportPage(figuresWith(), { profile: {} as never })).rejects.toMatchObject(invalid);
    const signal = AbortSignal.abort('enough');
    await expect(reportPage(figuresWith(), { profile: PROFILE, signal })).rejects.toBe('enough');
  });
});
