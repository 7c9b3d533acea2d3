import fc from 'fast-check';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadHierarchy } from '@tiered/config';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { made } from './drivers/noting.js';
import { directoryWith, driverPath, fileWith, problemsOf, refusalOf } from './helpers.js';

const noting = driverPath('noting');

/** The options that a driver sees of a configuration file. */
async function optionsIn(content: string, name?: string): Promise<unknown> {
  await loadHierarchy(await fileWith(content, name));
  return made.at(-1)?.options;
}

describe('a configuration file', () => {
  it('is YAML 1.2: no and 010 are not what they were in 1.1', async () => {
    const text = `source:\n  driver: ${noting}\n  a: no\n  b: 010\n  c: 1_000\n  d: 2001-12-14\n  e: 0x10\n  <<: { f: 1 }\n`;
    const expected = { a: 'no', b: 10, c: '1_000', d: '2001-12-14', e: 16, '<<': { f: 1 } };
    expect(await optionsIn(text)).toEqual(expected);
  });

  it('may repeat a part by an alias', async () => {
    const text = `source:\n  driver: ${noting}\n  a: &a { deep: [1] }\n  b: *a\n`;
    expect(await optionsIn(text, 'tiers.yml')).toEqual({ a: { deep: [1] }, b: { deep: [1] } });
  });

  it('may begin with a byte order mark, and may have lines of Windows', async () => {
    const text = `\uFEFFsource:\r\n  driver: ${noting}\r\n  a: b\r\n`;
    expect(await optionsIn(text)).toEqual({ a: 'b' });
    const json = `\uFEFF${JSON.stringify({ source: { driver: noting, a: 'b' } })}`;
    expect(await optionsIn(json, 'tiers.json')).toEqual({ a: 'b' });
  });

  it('can be named by a URL, and by a path relative to the working directory', async () => {
    const file = await fileWith(`source: { driver: ${JSON.stringify(noting)} }`);
    await loadHierarchy(pathToFileURL(file));
    expect(made.at(-1)?.context.baseDirectory).toBe(path.dirname(file));
    await loadHierarchy(path.relative(process.cwd(), file));
    expect(made.at(-1)?.context.baseDirectory).toBe(path.dirname(file));
  });

  it('gives a driver any options as they were written, in JSON and in YAML', async () => {
    // Dollars mean variables, and __proto__ is nothing that toEqual could compare.
    const options = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__')),
    );
    const own = ['driver', 'prefix', 'retry', 'limit', 'throttle'];
    await fc.assert(
      fc.asyncProperty(options, fc.constantFrom('\t', 2, undefined), async (given, indent) => {
        fc.pre(!own.some((key) => key in given) && !JSON.stringify(given).includes('$'));
        const config = { source: { ...given, driver: noting } };
        const json = JSON.stringify(config, undefined, indent);
        // Through JSON: it knows no -0.
        const expected: unknown = JSON.parse(JSON.stringify(given));
        expect(await optionsIn(json, 'tiers.json')).toEqual(expected);
        expect(await optionsIn(stringify(JSON.parse(json)))).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a file that is no configuration', () => {
  const BOMB = ['a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]']
    .concat([
      'b: &b [*a, *a, *a, *a, *a, *a, *a, *a]',
      'c: &c [*b, *b, *b, *b, *b, *b, *b, *b]',
      'd: [*c, *c, *c]',
    ])
    .join('\n');
  it.each([
    ['nothing', '', undefined],
    ['only comments', '# tiers\n', undefined],
    ['a text', 'hello', undefined],
    ['a list', '- source\n', undefined],
    ['binary data', Uint8Array.from({ length: 256 }, (_, index) => index), undefined],
    ['two documents', 'source: 1\n---\nsource: 2\n', '2:1'],
    ['a key twice', 'source: 1\nscan: true\nsource: 2\n', '3:1'],
    ['a tag', 'source: !!js/function "x"\n', '1:9'],
    ['a tag of YAML 1.1', 'source: !!binary aGVsbG8=\n', '1:9'],
    ['a key that is no text', '? [source]\n: 1\n', '1:3'],
    ['wrong indentation', 'source:\n  driver: fs\n root: x\n', '3:1'],
    ['tabs', 'source:\n\tdriver: fs\n', '2:1'],
    ['an alias of nothing', 'source: *nothing\n', undefined],
    ['aliases that multiply', BOMB, undefined],
    ['a variable without quotes inside of braces', 'source: { root: ${DATA} }\n', '1:18'],
  ])('is refused: %s', async (_, content, at) => {
    const [problem, ...others] = await problemsOf(await fileWith(content));
    expect(others).toEqual([]);
    expect(problem).toEqual({ at, field: undefined, text: expect.any(String) });
  });

  it('is refused, though it leads back to itself, for what is wrong in it', async () => {
    const file = await fileWith('source: &source { driver: *source }\ntiers: &tiers [*tiers]\n');
    expect((await problemsOf(file)).map(({ field }) => field)).toEqual(['source.driver', 'tiers[0]']);
  });

  it.each([
    ['comments', '{ "source": { "driver": "fs" } } // no', '1:34'],
    ['a trailing comma', '{ "source": { "driver": "fs", } }', undefined],
    ['text without quotes', '{ source: { "driver": "fs" } }', undefined],
    ['a key twice', '{ "source": 1,\n  "source": 2 }', '2:3'],
    ['nothing', '', undefined],
    ['the start of something', '{ "source": ', expect.any(String)],
  ])('is refused as JSON: %s', async (_, content, at) => {
    expect(await problemsOf(await fileWith(content, 'tiers.json'))).toEqual([
      { at, field: undefined, text: expect.any(String) },
    ]);
  });

  it('is refused without showing what stands in it', async () => {
    for (const line of [
      'key: "a" hunter2',
      '"hunter2',
      'a: b: hunter2',
      'a: {b: "}" hunter2, c}',
      '{{hunter2: ',
      'a: *hunter2',
      'a: !hunter2 b',
      'a: 1\n} hunter2',
      '"a": b\n  } hunter2',
    ]) {
      const yaml = await refusalOf(await fileWith(line));
      const json = await refusalOf(await fileWith(line, 'tiers.json'));
      expect(`${yaml.message} ${json.message}`).not.toContain('hunter2');
    }
  });

  it('is refused if it is missing, a directory, beneath a file, or not named as YAML or JSON is', async () => {
    const directory = await directoryWith({
      'dir.yaml/file': '',
      'file.yaml': '',
      'tiers.toml': '',
      tiers: '',
    });
    for (const name of [
      'missing.yaml',
      'dir.yaml',
      'file.yaml/x.yaml',
      'tiers.toml',
      'tiers',
      'dir.yaml/file',
    ]) {
      const { message } = await refusalOf(path.join(directory, name));
      expect(message).toContain(name);
    }
    await refusalOf(new URL('https://example.org/tiers.yaml'));
  });
});
