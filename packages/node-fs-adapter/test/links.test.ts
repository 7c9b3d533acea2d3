import { Hierarchy } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keysOf, onLinux, place, putFile, textOf, textsOf, WAYS, withCode, type Place } from './helpers.js';

/** A source with files and these links, beside secrets. */
async function linked(
  links: Readonly<Record<string, string>>,
  options: Parameters<typeof place>[0] = {},
): Promise<Place> {
  const there = await place(options);
  for (const key of ['a', 'v2/x', 'v2/deep/y']) await putFile(there.root, key, Buffer.from(key));
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(there.root, name));
  return there;
}

/** What a listing gives, and what it says that it leaves out. */
async function listing({ driver }: Place, prefix = '') {
  const keys: string[] = [];
  const left: Record<string, string> = {};
  const leftOut = (key: string, why: string) => void (left[key] = why);
  for await (const page of driver.list({ prefix, leftOut })) keys.push(...page.map(({ key }) => key));
  return { keys: keys.sort(), left };
}

describe('links to directories of a source', () => {
  it('[K4] are entered, also by links in them, and files are read by the keys that a listing gives', async () => {
    const there = await linked({ latest: 'v2', 'v2/up': '../a', again: 'latest/deep' });
    const { keys, left } = await listing(there);
    expect(keys).toEqual([
      'a',
      'again/y',
      'latest/deep/y',
      'latest/up',
      'latest/x',
      'v2/deep/y',
      'v2/up',
      'v2/x',
    ]);
    expect(left).toEqual({});
    expect(await textOf(there.driver, 'latest/up')).toBe('a');
    expect(await textOf(there.driver, 'again/y')).toBe('v2/deep/y');
    expect(await textsOf(there.driver, ['latest/deep/y'])).toEqual(['v2/deep/y']);
    for await (const page of there.driver.list({}))
      for (const object of page) expect(await there.driver.stat(object.key, {})).toEqual(object);
    for (const prefix of [
      'l',
      'latest',
      'latest/',
      'latest/d',
      'latest/deep/',
      'latest/deep/y',
      'latest/none/',
    ])
      expect(await keysOf(there.driver, prefix)).toEqual(keys.filter((key) => key.startsWith(prefix)));
  });

  it('[K4] that lead in circles are not entered, and told', async () => {
    const there = await linked({ self: '.', 'v2/root': '..', 'v2/deep/v2': '../../v2', circle: 'circle' });
    const { keys, left } = await listing(there);
    expect(keys).toEqual(['a', 'v2/deep/y', 'v2/x']);
    expect(Object.keys(left).sort()).toEqual(['circle', 'self', 'v2/deep/v2', 'v2/root']);
    expect(left['self']).toContain('the way to it leads through');
    expect(left['circle']).toContain('leads nowhere');
    for (const prefix of ['self/', 'v2/root/v2/', 'v2/deep/v2/'])
      expect(await keysOf(there.driver, prefix)).toEqual([]);
  });

  it('[K4] to each other are entered up to eight deep, and told', async () => {
    const there = await place();
    const names = Array.from({ length: 12 }, (_, i) => `d${i}`);
    for (const [i, name] of names.entries()) {
      await putFile(there.root, `${name}/file`, Buffer.from(name));
      fs.symlinkSync(`../d${i + 1}`, path.join(there.root, name, 'on'));
    }
    const { keys, left } = await listing(there);
    expect(Math.max(...keys.map((key) => key.split('/').length))).toBe(10);
    expect(left[`d0${'/on'.repeat(9)}`]).toContain('more than 8');
    expect(left['d11/on']).toContain('leads nowhere');
  });
});

describe('links of a source that lead out of its root', () => {
  const LINKS = { file: '../outside/secret', out: '../outside/deep', 'v2/up': '../../outside/a' };

  it('[K1] [K4] are left out and told, by default', async () => {
    const there = await linked(LINKS);
    const { keys, left } = await listing(there);
    expect(keys).toEqual(['a', 'v2/deep/y', 'v2/x']);
    expect(Object.keys(left).sort()).toEqual(['file', 'out', 'v2/up']);
    expect(new Set(Object.values(left)).size).toBe(1);
    expect(left['file']).toContain("links: 'follow'");
    expect(await listing(there, 'v2/')).toEqual({
      keys: ['v2/deep/y', 'v2/x'],
      left: { 'v2/up': left['file'] },
    });
  });

  it('[K4] make a listing fail with refuse', async () => {
    const { driver } = await linked(LINKS, { links: 'refuse' });
    await expect(keysOf(driver)).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    await expect(textOf(driver, 'file')).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    expect(await keysOf(driver, 'v2/d')).toEqual(['v2/deep/y']);
  });

  it.each(WAYS)('[K1] [K4] are read with follow: $way', async (options) => {
    const there = await linked(LINKS, { ...options, links: 'follow' });
    const { keys, left } = await listing(there);
    expect(keys).toEqual(['a', 'file', 'out/er/secret', 'out/secret', 'v2/deep/y', 'v2/up', 'v2/x']);
    expect(left).toEqual({});
    for (const key of ['file', 'out/er/secret', 'v2/up'])
      expect(await textOf(there.driver, key)).toBe('not yours');
    expect(await textOf(there.driver, 'v2/x')).toBe('v2/x');
    const texts = async () =>
      textsOf(there.driver, ['v2/deep/y', 'out/secret', '../outside/secret', '.tiered/x']);
    const expected = [
      'v2/deep/y',
      'not yours',
      withCode('TIERED_KEY_INVALID'),
      withCode('TIERED_KEY_INVALID'),
    ];
    expect(await texts()).toEqual(expected);
    expect(await keysOf(there.driver, 'out/')).toEqual(['out/er/secret', 'out/secret']);
    for (const key of ['../outside/secret', '/etc/hosts'])
      await expect(textOf(there.driver, key)).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
  });

  it('are for sources alone', async () => {
    expect(() => new FileSystemDriver({ root: '/x', writable: true, links: 'follow' })).toThrow(/links/);
    expect(() => new FileSystemDriver({ root: '/x', links: 'none' as 'follow' })).toThrow(
      /follow, inside, refuse/,
    );
  });

  it('[K4] are told of by a hierarchy, once a listing for each reason, and by a line if nobody listens', async () => {
    const { root } = await linked({ ...LINKS, dangling: 'nothing' });
    const lines: string[] = [];
    const told: unknown[] = [];
    const source = () => new FileSystemDriver({ root });
    await using silent = await new Hierarchy({ source: source(), warn: (line) => lines.push(line) }).open();
    await silent.rescan();
    expect(lines).toHaveLength(2);
    expect(lines.toSorted()[0]).toContain(
      '"dangling" of the source is left out, as it is a symbolic link that leads nowhere',
    );
    expect(lines.toSorted()[1]).toMatch(
      /^"(file|out|v2\/up)" and 2 other objects of the source are left out, as /,
    );
    await using hierarchy = new Hierarchy({ source: source(), warn: (line) => lines.push(line) });
    hierarchy.on('leftOut', ({ count, key }) => told.push([count, key === 'dangling']));
    await hierarchy.open();
    expect(told.toSorted()).toEqual([
      [1, true],
      [3, false],
    ]);
    expect(lines).toHaveLength(2);
  });
});

describe.skipIf(onLinux.skip)('file names that are not UTF-8', () => {
  /** `caf\xe9`, as Latin-1 has it. */
  const odd = (directory: string, ...more: string[]) =>
    Buffer.concat([Buffer.from(`${directory}/caf`), Buffer.from([0xe9]), Buffer.from(more.join(''))]);

  it.each(['a file', 'a directory'])('[K4] make a listing fail, which names them: %s', async (what) => {
    const there = await linked({});
    const at = odd(path.join(there.root, 'v2'));
    if (what === 'a file') fs.writeFileSync(at, 'x');
    else fs.mkdirSync(at);
    onTestFinished(() => fs.rmSync(at, { recursive: true }));
    await expect(keysOf(there.driver)).rejects.toMatchObject({
      code: 'TIERED_KEY_INVALID',
      message: expect.stringContaining('"v2/" + "caf\\xe9" is not UTF-8') as string,
    });
    expect(await keysOf(there.driver, 'a')).toEqual(['a']);
  });

  it('[K4] are not taken for names that hold the character that stands for what is no UTF-8', async () => {
    const there = await linked({});
    await putFile(there.root, 'caf\ufffd', Buffer.from('mine'));
    expect(await keysOf(there.driver)).toContain('caf\ufffd');
    expect(await textOf(there.driver, 'caf\ufffd')).toBe('mine');
  });
});
