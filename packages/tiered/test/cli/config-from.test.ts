import { loadConfig } from '@tiered/config';
import { someBytes } from '@tiered/core/testing';
import { initialProducersOf, parseProfile } from '@tiered/simulator/calibration';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDataset } from 'tiered';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { tiered } from './run-tiered.js';

const BYTES = 10_000;

let directory: string;
let data: string;
let profile: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-from-'));
  data = path.join(directory, 'data');
  profile = path.join(directory, 'profile.json');
  await mkdir(data);
  await mkdir(path.join(directory, 'job'));
  for (let i = 0; i < 4; i++) await writeFile(path.join(data, `${i}`), someBytes(BYTES, i));
});
afterEach(() => rm(directory, { recursive: true }));

const init = (name: string, ...args: string[]) =>
  tiered('config', 'init', path.join(directory, name), '--source', data, ...args);

/** A profile of this source and a RAM tier, as `tiered calibrate` writes it. */
const MEASURED = {
  version: 1,
  objectBytes: BYTES,
  source: {
    name: 'fs:/data',
    read: {
      points: [
        [1, 20.4],
        [8, 96],
        [16, 99],
        [32, 100],
      ],
    },
  },
  tiers: [
    {
      name: 'memory',
      read: { points: [[1, 5000]] },
      place: {
        points: [
          [1, 20],
          [2, 38],
          [4, 78.5],
          [8, 80],
        ],
      },
    },
  ],
};

describe('tiered config init --from', () => {
  it('takes what follows from the measurements, and says from which', async () => {
    await writeFile(profile, JSON.stringify(MEASURED));
    expect(await init('job/tiers.yaml', '--tier', 'ram:1MiB', '--from', profile)).toMatchObject({
      code: 0,
      messages: '',
    });
    const text = await readFile(path.join(directory, 'job/tiers.yaml'), 'utf8');
    expect(text.slice(text.indexOf('#'))).toBe(
      [
        '# Each read uses the copy or the source, whichever is faster at the moment by these measurements.',
        'model: ../profile.json',
        'placement:',
        '  # Measured: 4 requests at a time filled memory at 74.9 MiB/s of at most 76.3 MiB/s.',
        '  concurrency: 4',
        'prefetcher:',
        '  # Measured: 8 at a time read fs:/data at 91.6 MiB/s of at most 95.4 MiB/s.',
        '  initialProducers: 8',
        '',
      ].join('\n'),
    );
    expect((await init('tiers.json', '--tier', 'ram:1MiB', '--from', profile)).code).toBe(0);
    expect(JSON.parse(await readFile(path.join(directory, 'tiers.json'), 'utf8'))).toEqual({
      ...(parse(text) as object),
      model: 'profile.json',
    });
  });

  it('takes of a profile without such a measurement what there is', async () => {
    const [{ place, ...tier }] = MEASURED.tiers as [(typeof MEASURED.tiers)[0]];
    expect(place.points).toHaveLength(4);
    await writeFile(profile, JSON.stringify({ ...MEASURED, tiers: [tier] }));
    await init('tiers.json', '--tier', 'ram:1MiB', '--from', profile);
    const config = JSON.parse(await readFile(path.join(directory, 'tiers.json'), 'utf8')) as object;
    expect(Object.keys(config)).toEqual(['source', 'tiers', 'model', 'prefetcher']);
  });

  it('refuses a profile of other tiers, and what is no profile, and writes nothing then', async () => {
    await writeFile(profile, JSON.stringify(MEASURED));
    for (const tiers of [[], ['--tier', 'ram:1MiB', '--tier', `${path.join(directory, 'cache')}:1GB`]]) {
      const { code, messages } = await init('tiers.yaml', ...tiers, '--from', profile);
      expect(code).toBe(2);
      expect(messages).toContain(`was measured with other tiers than these ${tiers.length / 2}: memory.`);
    }
    for (const wrong of ['{}', 'no JSON']) {
      await writeFile(profile, wrong);
      const { code, messages } = await init('tiers.yaml', '--tier', 'ram:1MiB', '--from', profile);
      expect([code, messages]).toEqual([2, expect.stringContaining(`${profile} is not a profile`)]);
    }
    expect((await init('tiers.yaml', '--from', path.join(directory, 'missing.json'))).code).toBe(2);
    await expect(readFile(path.join(directory, 'tiers.yaml'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('makes of a calibration a configuration that trains by it', async () => {
    const file = path.join(directory, 'tiers.yaml');
    const tiers = ['--tier', 'ram:1MiB', '--tier', `${path.join(directory, 'cache')}:10MB`];
    const calibrate = () =>
      tiered('calibrate', file, '--seconds', '0.05', '--bytes', '2MB', '--out', profile);
    expect((await init('tiers.yaml', ...tiers)).code).toBe(0);
    expect((await calibrate()).code).toBe(0);
    expect((await init('tiers.yaml', ...tiers, '--from', profile, '--force')).code).toBe(0);
    expect(await tiered('config', 'check', file)).toMatchObject({ code: 0, messages: '' });

    const measured = parseProfile(JSON.parse(await readFile(profile, 'utf8')));
    const { hierarchy } = await loadConfig(file);
    expect(hierarchy.model?.fetchMs(2, BYTES, 1)).toBeGreaterThan(0);
    expect(hierarchy.model?.fetchMs(3, BYTES, 1), 'there are two tiers').toBe(Infinity);

    await using dataset = await openDataset(file);
    const samples = dataset.epochs({ epochs: 2 });
    let read = 0;
    for await (const { key, data: bytes } of samples) {
      expect(bytes).toEqual(someBytes(BYTES, Number(key)));
      read += 1;
    }
    expect(read).toBe(8);
    const [first] = samples.profile().decisions;
    expect(first?.decision.tuning.producers).toBe(initialProducersOf(measured));

    // What was measured is gone: it can be measured again with the file that names it.
    await rm(profile);
    expect((await tiered('config', 'check', file)).messages).toMatch(/:\d+:1: model: there is no such file/);
    expect((await calibrate()).code).toBe(0);
    expect((await tiered('config', 'check', file)).code).toBe(0);
  });
});
