import { inspect } from 'node:util';
import { loadHierarchy } from '@tiered/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { made } from './drivers/noting.js';
import { directoryWith, driverPath, fieldsOf, problemsOf, refusalOf } from './helpers.js';

const noting = driverPath('noting');

async function optionsWith(options: object, env: Readonly<Record<string, string>>): Promise<unknown> {
  await loadHierarchy({ source: { driver: noting, ...options } }, { env });
  return made.at(-1)?.options;
}

describe('a variable in a configuration', () => {
  it('is replaced wherever it stands in a text, and in nothing else', async () => {
    const env = { DIR: '/data', _x1: '${DIR}', EMPTY: '' };
    const given = {
      a: '${DIR}',
      b: ['x${DIR}/${EMPTY}${_x1}', { '${DIR}': '$DIR $ {DIR} }' }],
      c: 1,
      d: null,
    };
    expect(await optionsWith(given, env)).toEqual({
      a: '/data',
      b: ['x/data/${DIR}', { '${DIR}': '$DIR $ {DIR} }' }],
      c: 1,
      d: null,
    });
  });

  it('gives back any text, written with a second dollar where it holds a dollar and a brace', async () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom('${', '$${', '$', '{', '}', '${A}', '$${A}'));
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        const text = pieces.join('');
        expect(await optionsWith({ text: text.replaceAll('${', () => '$${') }, {})).toEqual({ text });
      }),
    );
  });

  it('can name a driver, and be any part of what core itself takes', async () => {
    const config = {
      source: { driver: '${DRIVER}', prefix: '${PART}/', throttle: { bytesPerSecond: '${RATE}' } },
    };
    const env = { DRIVER: noting, PART: 'train', RATE: '1MiB' };
    const hierarchy = await loadHierarchy(config, { env });
    expect(hierarchy.stats().source.driver).toBe('noting/train/');
  });

  it('is taken from the environment of the process by default', async () => {
    const [name = '', value] = Object.entries(process.env).find(([key]) => /^[A-Z]+$/.test(key)) ?? [];
    await loadHierarchy({ source: { driver: noting, value: `\${${name}}` } });
    expect(made.at(-1)?.options).toEqual({ value });
  });

  it('[G1] is not shown where the hierarchy itself refuses what it made of it', async () => {
    const env = { ROOT: '/nowhere/secret', BELOW: '/nowhere/x/../secret/cache', SIZE: '12', KEPT: 'secret' };
    const tier = { driver: 'fs', root: '/nowhere/else', quota: '1GiB' };
    const source = { driver: 'fs', root: '${ROOT}' };
    for (const config of [
      { source, tiers: [{ ...tier, root: '${BELOW}' }] },
      { source, tiers: [{ ...tier, root: '${ROOT}' }] },
      { source, tiers: [{ ...tier, quota: '${SIZE}' }] },
      { source, manifest: '${KEPT}', scan: false },
    ]) {
      const { message } = await refusalOf(config, { env });
      expect(message).toMatch(/^(tiers\[0\]|manifest)/);
      expect(message).not.toMatch(/secret|12/);
    }
    const { message } = await refusalOf({ source, tiers: [{ ...tier, quota: 13 }] }, { env });
    expect(message).toContain('got 13');
  });

  it('that is not set is told with its field and its name, every one of them', async () => {
    const config = { source: { driver: noting, a: '${A}', b: { c: ['x ${B} ${SET}'] } }, scan: true };
    const problems = await problemsOf(config, { env: { SET: '1' } });
    expect(problems.map(({ field }) => field)).toEqual(['source.a', 'source.b.c[0]']);
    expect(problems[0]?.text).toContain('A');
    expect(problems[1]?.text).toContain('B');
  });

  it.each(['${', '${}', '${A', '${A-B}', '${A:-b}', '${1}', '${ A }', '${A}${'])(
    'is refused as %s',
    async (text) => {
      const env = { A: '1', B: '2', '1': '3', ' A ': '4', '': '5', 'A-B': '6' };
      expect(await fieldsOf({ source: { driver: noting, text } }, { env })).toEqual(['source.text']);
    },
  );

  it('does not make a name of the prototype of objects', async () => {
    expect(await fieldsOf({ source: { driver: noting, a: '${constructor}' } }, { env: {} })).toEqual([
      'source.a',
    ]);
  });
});

describe('the value of a variable', () => {
  it('[G1] is shown by no message and no cause, whatever is wrong with the field that it is in', async () => {
    const echoing = `
      const validate = (value) =>
        value.how === 'issue' ? { issues: [{ message: 'bad: ' + JSON.stringify(value.key), path: ['key'] }] } : { value };
      export const driverFactory = {
        schema: { '~standard': { version: 1, vendor: 'test', validate } },
        create: ({ key }) => { throw new Error('cannot use ' + key, { cause: new Error(key) }); },
      };`;
    const driver = `${await directoryWith({ 'echoing.mjs': echoing })}/echoing.mjs`;
    const secret = fc.string({ minLength: 12, maxLength: 30 }).map((text) => `hunter2 ${text}`);
    await fc.assert(
      fc.asyncProperty(secret, async (value) => {
        const env = { KEY: value, NAME: `@${value}/driver` };
        const configs = [
          { source: { driver, how: 'issue', key: '${KEY}' } },
          { source: { driver, key: 'a ${KEY} b' } },
          { source: { driver: 'memory', throttle: { bytesPerSecond: '${KEY}' } } },
          { source: { driver: '${KEY}' } },
          { source: { driver: '${NAME}' } },
          { source: { driver: 'memory', retry: '${KEY}' } },
          { source: '${KEY}' },
        ];
        for (const config of configs) {
          const error = await refusalOf(config, { env });
          expect(inspect(error)).not.toContain('hunter2');
          expect(error.message).toContain('source');
        }
      }),
      { numRuns: 20 },
    );
  });
});
