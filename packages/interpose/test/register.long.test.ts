import { systemClock } from '@tiered/core';
import type { Interposer } from '@tiered/interpose';
import fc from 'fast-check';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { TableView } from '../src/register/table-view.js';
import { TableWriter } from '../src/table/writer.js';
import { buildRegister, REGISTER, start } from './registered.js';
import { makeDataset, serve, temporaryDirectory, type Dataset } from './helpers.js';

const KEYS = ['a.bin', 'Train/Image 1.JPG', 'train/é.png'];
beforeAll(buildRegister);

const READS = path.join(import.meta.dirname, 'children/reads.mjs');
/** As the child names them. */
const WAYS = [
  ...['readFileSync', 'fs.readFileSync', 'require readFileSync', 'readFileSync of text', 'readFile'],
  ...['readFile with options', 'promises.readFile', 'fs.promises.readFile', 'fs/promises open', 'openSync'],
  ...['openSync with a number', 'open', 'createReadStream', 'createReadStream of a handle', 'a URL'],
  ...['a Buffer', 'a relative path', 'a path with dots', 'a thread'],
];

/** Serves a dataset to programs that find it by the directory of its session. */
async function served(): Promise<{ dataset: Dataset; interposer: Interposer; at: string; files: string[] }> {
  const dataset = makeDataset(KEYS);
  const at = path.join(temporaryDirectory(), 'session');
  const interposer = await serve(dataset, { at });
  return { dataset, interposer, at, files: KEYS.map((key) => path.join(dataset.source, key)) };
}

/** What a child read, and the opens that it told of. */
async function read(
  { interposer, at, files }: Awaited<ReturnType<typeof served>>,
  how: string,
): Promise<{ bytes: Buffer[]; source: number; copies: number }> {
  const before = interposer.stats();
  const isTold = () => interposer.stats().opens >= before.opens + files.length;
  const out = await start(at, [READS, how, ...files], isTold);
  const after = interposer.stats();
  const copies = after.redirected - before.redirected;
  const bytes = out
    .trim()
    .split('\n')
    .map((line) => Buffer.from(line, 'base64'));
  return { bytes, copies, source: after.opens - before.opens - copies };
}

describe('a Node program with register', () => {
  it.each(WAYS)('[I1] reads the same bytes from copies: %s', async (how) => {
    const parts = await served();
    const bytes = KEYS.map((key) => parts.dataset.contents.get(key));
    expect(await read(parts, how)).toEqual({ bytes, source: 3, copies: 0 });
    await parts.interposer.idle();
    expect(await read(parts, how)).toEqual({ bytes, source: 0, copies: 3 });
    // A copy that is gone, before anybody says so.
    for (const name of fs.readdirSync(parts.dataset.tiers[0] ?? '', { recursive: true, encoding: 'utf8' }))
      if (/@[0-9a-z]{8}$/.test(name)) fs.rmSync(path.join(parts.dataset.tiers[0] ?? '', name));
    expect(await read(parts, how)).toEqual({ bytes, source: 3, copies: 0 });
  });

  it('[I1] is told of an open copy what is so of the source', async () => {
    const parts = await served();
    for (let round = 0; round < 3; round++) {
      const isTold = () => parts.interposer.stats().opens >= 3 * (round + 1);
      const told = await start(parts.at, [READS, 'described', ...parts.files], isTold);
      // The times of a file of the source may differ.
      expect(told).toMatch(round === 0 ? /^(1,\w+,1,\w+\n){3}$/ : /^(1,true,1,true\n){3}$/);
      await parts.interposer.idle();
    }
    expect(parts.interposer.stats().redirected).toBe(6);
  });

  it('tells what it opened also if it ends at once', async () => {
    const { interposer, at, files } = await served();
    const program = `fs.openSync(${JSON.stringify(files[0])})`;
    // Its end waits for half a second only, so on a busy machine it may take several programs.
    while (interposer.stats().opens === 0) {
      await start(at, ['--eval', program]);
      for (let turns = 0; turns < 100; turns++) await systemClock.turn();
    }
    // There was no copy before the daemon was told.
    const { opens, redirected } = interposer.stats();
    expect(redirected).toBeLessThan(opens);
  });

  it('[I2] reads the source when the daemon has ended, and what is not its own', async () => {
    const { interposer, at, files, dataset } = await served();
    for (const key of KEYS) await interposer.hierarchy.place(key);
    await interposer.close();
    const out = await start(at, [READS, 'openSync', ...files]);
    const bytes = KEYS.map((key) => dataset.contents.get(key)?.toString('base64'));
    expect(out.trim().split('\n')).toEqual(bytes);
  });

  it("[I2] gets Node's own errors, and functions that look like Node's own", async () => {
    const { at, dataset } = await served();
    const missing = path.join(dataset.source, 'not there');
    const program = `
      import fs from 'node:fs';
      const name = ${JSON.stringify(missing)};
      const errors = [];
      for (const call of [fs.readFileSync, fs.openSync, fs.promises.readFile, fs.promises.open])
        try { await call(name); } catch (error) { errors.push(error); }
      for (const call of [fs.readFile, fs.open])
        errors.push(await new Promise((resolve) => call(name, resolve)));
      for (const call of [fs.readFile, fs.open, fs.readFileSync, fs.openSync])
        try { call(1.5, 'r', 0, 'no function'); } catch (error) { errors.push(error); }
      try { fs.writeFileSync(fs.openSync(${JSON.stringify(path.join(dataset.source, 'new'))}, 'wx'), 'written'); } catch (error) { errors.push(error); }
      console.log(JSON.stringify(errors.map(({ code, message }) => [code, message])));
      console.log(JSON.stringify(['open', 'readFile', 'openSync', 'readFileSync', 'fstat'].map((name) => [fs[name].name, fs[name].length])));`;
    const child = (...options: string[]) =>
      promisify(execFile)(process.execPath, [...options, '--input-type=module', '-e', program], {
        env: { ...process.env, TIERED_INTERPOSE: at },
      });
    const under = await child('--import', REGISTER);
    expect(fs.readFileSync(path.join(dataset.source, 'new'), 'utf8')).toBe('written');
    fs.rmSync(path.join(dataset.source, 'new'));
    expect(under.stdout).toBe((await child()).stdout);
  });

  it('says at the start which daemon it needs', async () => {
    await expect(start(undefined, [READS])).rejects.toThrow(/tiered daemon --config FILE --at DIRECTORY/);
  });
});

describe('a table that is read by calls', () => {
  const texts = fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }), {
    maxLength: 100,
  });

  it('says what was written, and crashes nobody when it is broken', async () => {
    const where = path.join(temporaryDirectory(), 'table');
    const mutations = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(2 ** 30), mutations, async (keys, tag, changes) => {
        const options = { path: where, roots: ['/data'], tiers: ['/tier'], entries: keys.length };
        const writer = await TableWriter.create(options);
        for (const [i, key] of keys.entries()) {
          writer.add(key, i);
          if (i % 2 === 1) writer.setPlace(i, { level: 0, tag: tag + i });
        }
        writer.publish();
        const view = TableView.at(where);
        expect([view?.isLive, view?.isOutdated, view?.roots, view?.tiers]).toEqual([
          ...[true, false, ['/data'], ['/tier']],
        ]);
        for (const [i, key] of keys.entries())
          expect(view?.find(key)).toEqual({
            bytes: i,
            file: undefined,
            place: i % 2 === 1 ? { level: 0, tag: tag + i } : undefined,
          });
        expect(view?.find('no such key \0')).toBeUndefined();
        writer.close();
        expect(view?.isOutdated).toBe(true);
        view?.close();

        const bytes = fs.readFileSync(where);
        for (const [at, value] of changes) bytes[at % 2 === 0 ? at % 400 : at % bytes.length] = value;
        fs.writeFileSync(where, bytes);
        const broken = TableView.at(where);
        for (const key of keys) {
          const level = broken?.find(key)?.place?.level ?? 0;
          expect(level < (broken?.tiers.length ?? 1) || level === 0).toBe(true);
        }
        for (const tier of broken?.tiers ?? []) expect(path.resolve(tier)).toBe(tier);
        broken?.close();
      }),
    );
  });
});
