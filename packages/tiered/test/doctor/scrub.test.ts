import { describe, expect, it } from 'vitest';
import { ofEnvironment, ofHidden, ofVariables, Scrubber } from '../../src/doctor/scrub.js';
import { knownFields, shownOf } from '../../src/configuration/shown.js';

describe('what is scrubbed', () => {
  it('is a text in any form and case, by the name of its variable if it has one', () => {
    const variables = [{ path: [], name: 'DATA', value: '/mnt/"Data"' }];
    const scrubber = new Scrubber([
      ...ofVariables(variables),
      ...ofHidden(['/mnt/"Data"', 'a b/c?d', '\u0130stanbul']),
    ]);
    for (const [text, told] of [
      ['in /mnt/"Data"/x', 'in ${DATA}/x'],
      ['in "/mnt/\\"data\\""', 'in "${DATA}"'],
      ['in %2Fmnt%2F%22Data%22', 'in ${DATA}'],
      ['A b/c?d, a%20b%2Fc%3Fd, \u0130stanbul', 'removed, removed, removed'],
    ] as const)
      expect(scrubber.text(text)).toBe(told);
    expect(scrubber.all({ list: [{ text: 'a b/c?d', number: 1 }] })).toEqual({
      list: [{ text: 'removed', number: 1 }],
    });
  });

  it('is a short text only where it stands alone between quotes', () => {
    const scrubber = new Scrubber(ofHidden(['is']));
    expect(scrubber.text('this is not "is"')).toBe('this is not removed');
    expect(new Scrubber([]).text('as it is')).toBe('as it is');
  });

  it('is what the environment calls a secret', () => {
    const env = {
      AWS_SESSION_TOKEN: 'hunter2hunter2',
      DB_PASSWORD: 'hunter3',
      KEYBOARD: 'german',
      API_KEY: 'k',
      LANG: undefined,
    };
    expect(ofEnvironment(env).map(({ text }) => text)).toEqual(['hunter2hunter2', 'hunter3']);
  });
});

describe('what is shown of a configuration', () => {
  it('is what the schema knows and cannot be a secret, as it is written', async () => {
    const config = {
      source: {
        driver: 's3',
        bucket: 'data',
        endpoint: 'https://me:hunter2@host:9000/x?y=z',
        region: '${REGION}',
        profile: 'me',
      },
      tiers: [
        { driver: 'fs', root: '${CACHE}/a', quota: '${SIZE}GiB', fsync: true, maxOpenFiles: 64, pin: 1234 },
        { driver: './own.js', quota: '1GiB', password: '${PASSWORD}', token: 5, nested: { bucket: 'b' } },
      ],
      placement: { policy: { name: 'pinned', pins: [{ match: 'secret/**', tier: 0 }] }, memory: '1GiB' },
      versions: 'pin',
    };
    const { shown, hidden } = shownOf(config, await knownFields());
    expect(shown).toMatchObject({
      source: {
        driver: 's3',
        bucket: 'data',
        endpoint: 'https://host:9000/removed',
        region: '${REGION}',
        profile: 'removed',
      },
      tiers: [
        {
          driver: 'fs',
          root: '${CACHE}/a',
          quota: '${SIZE}GiB',
          fsync: true,
          maxOpenFiles: 64,
          pin: 'removed',
        },
        {
          driver: './own.js',
          quota: '1GiB',
          password: '${PASSWORD}',
          token: 'removed',
          nested: { bucket: 'removed' },
        },
      ],
      placement: { policy: { name: 'pinned' }, memory: '1GiB' },
      versions: 'pin',
    });
    expect(JSON.stringify(shown)).not.toContain('secret/');
    expect(hidden).toEqual(expect.arrayContaining(['me', 'hunter2', 'y=z', '1234', '5', 'b', 'secret/**']));
  });

  it('ends where a configuration leads back to itself', async () => {
    const source: Record<string, unknown> = { driver: 'fs' };
    source['retry'] = source;
    expect(shownOf({ source }, await knownFields()).shown).toEqual({
      source: { driver: 'fs', retry: 'removed' },
    });
  });
});
