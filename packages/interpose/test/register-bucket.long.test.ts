import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { bucket, KEYS } from './bucket.js';
import { temporaryDirectory } from './helpers.js';
import { buildRegister, start } from './registered.js';

const CALLS = path.join(import.meta.dirname, 'children/calls.mjs');
const NAMES = [...KEYS, '', 'a', 'a/', 'a/deep', 'nothing', 'a/nothing/more'];

beforeAll(buildRegister);

const at = () => path.join(temporaryDirectory(), 'session');

/** Runs a script, which finds the root as ROOT, and resolves to the JSON that it writes. */
async function told(session: string, root: string, script: string): Promise<unknown> {
  const prelude = `import fs from 'node:fs'; import path from 'node:path'; const ROOT = ${JSON.stringify(root)};
    const codeOf = (work) => { try { return String(work()); } catch (error) { return error.code; } };`;
  const program = `${prelude}\n${script}`;
  return JSON.parse(await start(session, ['--input-type=module', '-e', program]));
}

describe('a Node program with register, and a root that is not there', () => {
  it('[I7] is told what it is told of the same files in a directory', async () => {
    const session = at();
    const { interposer, root, bytesOf } = await bucket({ at: session });
    const directory = path.join(temporaryDirectory(), 'directory');
    for (const key of KEYS) {
      fs.mkdirSync(path.dirname(path.join(directory, key)), { recursive: true });
      fs.writeFileSync(path.join(directory, key), bytesOf(key));
    }
    const { stdout } = await promisify(execFile)(process.execPath, [CALLS, directory, ...NAMES], {
      maxBuffer: 2 ** 28,
    });
    const expected = stdout.split('\n');
    // Once from the bucket, and once from copies.
    for (let epoch = 0; epoch < 2; epoch++) {
      expect((await start(session, [CALLS, root, ...NAMES])).split('\n')).toEqual(expected);
      await interposer.idle();
    }
    expect(fs.existsSync(root)).toBe(false);
  });

  it('[I7] cannot write, and may read', async () => {
    const session = at();
    const { root } = await bucket({ at: session });
    const codes = await told(
      session,
      root,
      `const [file, none] = [path.join(ROOT, 'top.txt'), path.join(ROOT, 'new')];
      const { constants } = fs;
      console.log(JSON.stringify([
        ...['r+', 'w', 'a', 'wx', 'ax+', constants.O_RDONLY | constants.O_TRUNC].map((flags) => codeOf(() => fs.openSync(file, flags))),
        ...['r', 'r+', 'w', 'wx'].map((flags) => codeOf(() => fs.openSync(none, flags))),
        ...['w', 'r+'].map((flags) => codeOf(() => fs.openSync(ROOT, flags))),
        codeOf(() => fs.openSync(file, constants.O_DIRECTORY)),
        codeOf(() => fs.accessSync(file, constants.W_OK)), codeOf(() => fs.accessSync(file, constants.X_OK)),
        codeOf(() => fs.accessSync(ROOT, constants.X_OK)), codeOf(() => fs.accessSync(ROOT, constants.W_OK)),
        codeOf(() => fs.writeFileSync(none, '')), codeOf(() => fs.mkdirSync(none)),
        codeOf(() => fs.readFileSync('')), codeOf(() => fs.readFileSync(file + '\\0')),
      ]));`,
    );
    expect(codes).toEqual([
      ...['EROFS', 'EROFS', 'EROFS', 'EEXIST', 'EEXIST', 'EROFS'],
      ...['ENOENT', 'ENOENT', 'EROFS', 'EROFS'],
      ...['EISDIR', 'EISDIR', 'ENOTDIR'],
      ...['EROFS', 'EACCES', 'undefined', 'EROFS'],
      ...['ENOENT', 'ENOENT', 'ENOENT', 'ERR_INVALID_ARG_VALUE'],
    ]);
  });

  it('[I7] is told of an object that is gone, in the words of Node', async () => {
    const session = at();
    const { root, source } = await bucket({ at: session });
    await source.delete('top.txt', {});
    const messages = await told(
      session,
      root,
      `const name = path.join(ROOT, 'top.txt');
      const sync = (() => { try { fs.readFileSync(name); } catch (error) { return error.message; } })();
      const later = await fs.promises.open(name).catch((error) => error.message);
      const called = await new Promise((resolve) => fs.readFile(name, (error) => resolve(error.message)));
      console.log(JSON.stringify([sync, later, called]));`,
    );
    const message = `ENOENT: no such file or directory, open '${path.join(root, 'top.txt')}'`;
    expect(messages).toEqual([message, message, message]);
  });

  it('[I7] reads copies when nobody answers, and is not kept waiting for others', async () => {
    const session = at();
    const { root, interposer, bytesOf } = await bucket({ at: session });
    await interposer.hierarchy.place('top.txt');
    // It lives as long as this process, and answers nobody.
    fs.rmSync(path.join(session, 'socket'));
    const codes = await told(
      session,
      root,
      `const other = path.join(ROOT, 'b/z.bin');
      console.log(JSON.stringify([
        fs.readFileSync(path.join(ROOT, 'top.txt')).length,
        codeOf(() => fs.readFileSync(other)),
        await fs.promises.readFile(other).catch(({ code }) => code),
        codeOf(() => fs.readdirSync(ROOT)), fs.statSync(other).size,
      ]));`,
    );
    expect(codes).toEqual([
      bytesOf('top.txt').byteLength,
      'EIO',
      'EIO',
      'EIO',
      bytesOf('b/z.bin').byteLength,
    ]);
  });

  it('[I7] may be many processes and threads', async () => {
    const session = at();
    const { root, bytesOf } = await bucket({ at: session });
    const program = `
      import fs from 'node:fs'; import path from 'node:path';
      import { isMainThread, parentPort, Worker } from 'node:worker_threads';
      const read = () => fs.readFileSync(${JSON.stringify(path.join(root, 'a/x.jpg'))}).length;
      if (!isMainThread) parentPort.postMessage(read());
      else {
        const workers = Array.from({ length: 4 }, () => new Worker(new URL(import.meta.url)));
        const lengths = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
        console.log(JSON.stringify([read(), ...lengths]));
      }`;
    const file = path.join(temporaryDirectory(), 'program.mjs');
    fs.writeFileSync(file, program);
    const { length } = bytesOf('a/x.jpg');
    const children = Array.from({ length: 3 }, () => start(session, [file]));
    for (const out of await Promise.all(children)) expect(JSON.parse(out)).toEqual(Array(5).fill(length));
  });
});
