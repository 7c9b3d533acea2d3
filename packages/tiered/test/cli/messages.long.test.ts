import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/cli/shared/daemon-at.js';
import { lateText, noneText } from '../../src/cli/summary.js';
import { tiered } from './run-tiered.js';

const NOBODY = 65534;

let directory: string;
let file: string;
const inside = (name: string) => path.join(directory, name);
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-messages-'));
  await chmod(directory, 0o755);
  file = await configured('tiers.json', {});
  await mkdir(inside('data'));
  await writeFile(inside('data/a'), 'x');
});
afterEach(() => rm(directory, { recursive: true }));

async function configured(name: string, { source = {}, tier = {} }): Promise<string> {
  const config = {
    source: { driver: 'fs', root: 'data', ...source },
    tiers: [{ driver: 'fs', root: 'cache', quota: '10MB', ...tier }],
  };
  await writeFile(inside(name), JSON.stringify(config));
  return inside(name);
}

/** Runs as a user whom modes of files bind: root becomes nobody for the time being. */
async function asNobody<T>(run: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(NOBODY);
  try {
    return await run();
  } finally {
    process.seteuid?.(0);
  }
}

describe('a file that is named and cannot be used is told by its name, with exit code 2', () => {
  it.each([
    ['a trace', () => ['trace', inside('x')]],
    ['a trace to be replayed', () => ['run', '--config', file, '--replay', inside('x'), '--', 'true']],
    ['a simulation', () => ['simulate', 'file', inside('x')]],
    ['a profile', () => ['simulate', 'profile', inside('x'), '--config', file]],
    ['a profile for a configuration', () => initFrom(inside('x'))],
    ['a list of keys', () => ['warmup', file, '--keys', inside('x')]],
    ['a configuration', () => ['stats', inside('x.yaml')]],
  ])('%s that is not there', async (_, args) => {
    const { code, messages } = await tiered(...args());
    expect(messages).toMatch(/^[^ ]*\/x(\.yaml)?: (no such file|there is no such file)\n$/);
    expect(code).toBe(2);
  });

  const initFrom = (from: string) => [
    ...['config', 'init', inside('new.yaml'), '--source', inside('data')],
    ...['--tier', `${inside('cache')}:10MB`, '--from', from],
  ];

  it.each([
    ['in a directory that is not there', 'none/x', 'there is no directory DIRECTORY/none'],
    ['below a file', 'data/a/x', 'a file stands where a directory must be'],
    ['that is a directory', 'data', 'this is a directory, not a file'],
  ])('one that is to be written, %s', async (_, name, why) => {
    const { code, messages } = await tiered(
      'simulate',
      'scenario',
      '1',
      '--epochs',
      '1',
      '--svg',
      inside(name),
    );
    expect(messages).toBe(`${inside(name)}: ${why.replace('DIRECTORY', directory)}\n`);
    expect(code).toBe(2);
  });

  it('one that is no JSON', async () => {
    await writeFile(inside('x'), '{bad');
    const { code, messages } = await tiered('simulate', 'file', inside('x'));
    expect(messages).toContain(`${inside('x')} is not a simulation: `);
    expect(code).toBe(2);
  });

  it('one that another user owns', async () => {
    await writeFile(inside('x'), '');
    await chmod(inside('x'), 0);
    const { code, messages } = await asNobody(() => tiered('trace', inside('x')));
    const owner = process.geteuid?.() === 0 ? 'root' : 'this user, so its mode is wrong';
    expect(messages).toBe(`${inside('x')}: this user may not read it; it belongs to ${owner}\n`);
    expect(code).toBe(2);
  });
});

it.each([['stats'], ['verify'], ['gc', '--dry-run'], ['warmup', '--check'], ['inspect', 'key', 'a']])(
  'the directory of a tier that another user owns: %s',
  async (...command) => {
    const [name = '', ...rest] = command;
    const args = name === 'inspect' ? ['inspect', 'key', file, 'a'] : [name, file, ...rest];
    expect((await tiered('warmup', file)).code).toBe(0);
    const owner = process.geteuid?.() === 0 ? 'root' : 'this user, so its mode is wrong';
    const told = `tier 0, ${inside('cache')}: this user may not read it; it belongs to ${owner}\n`;
    // Its index is the user's alone also where the directory is everybody's.
    for (const mode of process.geteuid?.() === 0 ? [0o700, 0o755] : [0]) {
      await chmod(inside('cache'), mode);
      expect(await asNobody(() => tiered(...args))).toMatchObject({ code: 1, messages: told });
      await chmod(inside('cache'), 0o755);
    }
  },
);

it('doctor shows a wrong value, as "config check" does', async () => {
  const wrong = await configured('wrong.json', { source: { throttle: { latencyMs: 'abc' } } });
  const found = 'source.throttle.latencyMs: expected milliseconds, at least 0, got "abc"';
  expect((await tiered('config', 'check', wrong)).messages).toContain(found);
  expect((await tiered('doctor', wrong)).out).toContain(found);
  expect((await tiered('doctor', wrong, '--json')).out).toContain('got \\"abc\\"');
});

it('a fault of a tier is a line of the command, without advice for programmers', async () => {
  await writeFile(inside('other'), '');
  const wrong = await configured('wrong.json', { tier: { root: 'other/cache' } });
  const warnings: Error[] = [];
  const take = (warning: Error) => void warnings.push(warning);
  process.on('warning', take);
  const { code, messages } = await tiered('run', '--config', wrong, '--quiet', '--', 'true');
  process.off('warning', take);
  expect(code).toBe(0);
  expect(messages).toContain(`warning: tier 0 (fs:${inside('other/cache')}) cannot be used (`);
  expect(messages).toContain('mount or create it');
  expect(messages).not.toContain('Listen to the event');
  expect(warnings).toEqual([]);
});

it('tells a daemon of another user apart from none', async () => {
  const at = inside('session');
  await mkdir(at, { mode: process.geteuid?.() === 0 ? 0o700 : 0 });
  const terminal = new PassThrough();
  expect(await asNobody(() => environmentOf({ terminal }, at))).toBe(process.env);
  expect(String(terminal.read())).toMatch(
    /session: this user may not read it; it belongs to .*\. A daemon serves its own user: /,
  );
});

it('says of planned opens that came before their copies whether that is bad', () => {
  expect(lateText({ late: 0, placed: 10 })).toBe('All planned opens found their copies.');
  expect(lateText({ late: 2629, placed: 9000 })).toBe(
    '2,629 planned opens came before the copy, and read the source as without a plan: that costs nothing, and the others were spared the wait.',
  );
  expect(lateText({ late: 2629, placed: 10 })).toContain('leave out --replay');
});

it('says why no file was opened, as far as it is known', () => {
  const nothing = { began: false, elsewhere: false, ended: false };
  const said = (programs: Partial<typeof nothing>, objects = 8) =>
    noneText(objects, { ...nothing, ...programs }, { root: '/data', isImaginary: false }).join('\n');
  expect(said({}, 0)).toBe('No file was opened below /data: the source has none.');
  expect(said({})).toContain('- The shim was loaded into no program.');
  expect(said({ began: true })).toContain('- The shim was loaded. Does the program read another path?');
  expect(said({ elsewhere: true })).toContain('- A program sees something else at /data.');
  expect(said({ began: true, ended: true })).toContain('- A program got another root or user');
});

it('has one form of numbers', async () => {
  for (let i = 0; i < 1100; i++) await writeFile(inside(`data/${i}`), '');
  await writeFile(inside('data/a'), new Uint8Array(70_000));
  const { out } = await tiered('warmup', file, '--prefix', 'a');
  expect(out).toContain('/data: 1,101 objects, 68.4 KiB');
});
