import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { bucket, KEYS, type Bucket } from './bucket.js';
import { describeShim, makeDataset, opensOf, run, serve, temporaryDirectory } from './helpers.js';

const FILES = ['a.bin', 'Train/Image 1.JPG', 'train/é.png'];
const READS = path.join(import.meta.dirname, 'children/reads.mjs');
const CALLS = path.join(import.meta.dirname, 'children/calls.mjs');
/** As `reads.mjs` names them. */
const WAYS = [
  ...['readFileSync', 'fs.readFileSync', 'require readFileSync', 'readFileSync of text', 'readFile'],
  ...['readFile with options', 'promises.readFile', 'fs.promises.readFile', 'fs/promises open', 'openSync'],
  ...['openSync with a number', 'open', 'createReadStream', 'createReadStream of a handle', 'a URL'],
  ...['a Buffer', 'a relative path', 'a path with dots', 'a thread'],
];
/** What is asked about below a bucket: objects, directories, and what is not there. */
const NAMES = [...KEYS, '', 'a', 'a/', 'a/deep', 'nothing', 'a/nothing/more'];

/** Serves files to Node programs, and says which opens one made that was given them. */
async function served() {
  const dataset = makeDataset(FILES);
  const interposer = await serve(dataset);
  const files = FILES.map((key) => path.join(dataset.source, key));
  const read = async (how: string) => {
    const child = () => run(interposer, process.execPath, [READS, how, ...files]);
    const { result, source, copies } = await opensOf(interposer, child);
    return { lines: result.trim().split('\n'), source, copies };
  };
  return { dataset, interposer, read };
}

/** Runs a script, which finds the root as ROOT, and resolves to the JSON that it writes. */
async function told({ interposer, root }: Bucket, script: string): Promise<unknown> {
  const prelude = `import fs from 'node:fs'; import path from 'node:path'; const ROOT = ${JSON.stringify(root)};
    const codeOf = (work) => { try { return String(work()); } catch (error) { return error.code; } };`;
  const args = ['--input-type=module', '-e', `${prelude}\n${script}`];
  return JSON.parse(await run(interposer, process.execPath, args));
}

describeShim('a Node program', () => {
  it.each(WAYS)('[I1] reads the same bytes from copies: %s', async (how) => {
    const { dataset, interposer, read } = await served();
    const lines = FILES.map((key) => dataset.contents.get(key)?.toString('base64'));
    expect(await read(how)).toEqual({ lines, source: 3, copies: 0 });
    await interposer.idle();
    expect(await read(how)).toEqual({ lines, source: 0, copies: 3 });
    // A copy that is gone, before anybody says so.
    const [tier = ''] = dataset.tiers;
    for (const name of fs.readdirSync(tier, { recursive: true, encoding: 'utf8' }))
      if (/@[0-9a-z]{8}$/.test(name)) fs.rmSync(path.join(tier, name));
    expect(await read(how)).toEqual({ lines, source: 3, copies: 0 });
  });

  it('[I1] is told of an open copy what is so of the source', async () => {
    const { interposer, read } = await served();
    // The times of a file of the source may differ.
    const source = await read('described');
    expect(source.lines).toEqual(FILES.map(() => expect.stringMatching(/^1,\w+,1,\w+$/) as string));
    // First while the daemon finds out what is so, and then from what it has said.
    for (let epoch = 0; epoch < 2; epoch++) {
      await interposer.idle();
      const { lines, copies } = await read('described');
      expect([copies, ...lines]).toEqual([3, ...FILES.map(() => '1,true,1,true')]);
    }
  });
});

describeShim('a Node program below a root that is not there', () => {
  it('[I7] is told what it is told of the same files in a directory', async () => {
    const { interposer, root, bytesOf } = await bucket();
    // Node's own `realpath` asks about each directory above.
    fs.mkdirSync(path.dirname(root));
    const directory = path.join(temporaryDirectory(), 'directory');
    for (const key of KEYS) {
      fs.mkdirSync(path.dirname(path.join(directory, key)), { recursive: true });
      fs.writeFileSync(path.join(directory, key), bytesOf(key));
    }
    const { stdout } = await promisify(execFile)(process.execPath, [CALLS, directory, ...NAMES], {
      ...{ maxBuffer: 2 ** 28, encoding: 'latin1' },
    });
    const expected = stdout.split('\n');
    // Once from the bucket, and once from copies.
    for (let epoch = 0; epoch < 2; epoch++) {
      const said = await run(interposer, process.execPath, [CALLS, root, ...NAMES]);
      expect(said.split('\n')).toEqual(expected);
      await interposer.idle();
    }
    expect(fs.existsSync(root)).toBe(false);
  });

  it('[I7] cannot write, and may read', async () => {
    const codes = await told(
      await bucket(),
      `const [file, none] = [path.join(ROOT, 'top.txt'), path.join(ROOT, 'new')];
      const { constants } = fs;
      console.log(JSON.stringify([
        ...['r+', 'w', 'a', 'wx', 'ax+', constants.O_RDONLY | constants.O_TRUNC].map((flags) => codeOf(() => fs.openSync(file, flags))),
        ...['r', 'r+', 'w', 'wx'].map((flags) => codeOf(() => fs.openSync(none, flags))),
        ...['w', 'r+'].map((flags) => codeOf(() => fs.openSync(ROOT, flags))),
        codeOf(() => fs.openSync(file, constants.O_DIRECTORY)),
        codeOf(() => fs.accessSync(file, constants.W_OK)), codeOf(() => fs.accessSync(file, constants.X_OK)),
        codeOf(() => fs.accessSync(ROOT, constants.X_OK)), codeOf(() => fs.accessSync(ROOT, constants.W_OK)),
        codeOf(() => fs.writeFileSync(none, '')),
      ]));`,
    );
    expect(codes).toEqual([
      ...['EROFS', 'EROFS', 'EROFS', 'EEXIST', 'EEXIST', 'EROFS'],
      ...['ENOENT', 'ENOENT', 'EROFS', 'EROFS'],
      ...['EISDIR', 'EISDIR', 'ENOTDIR'],
      ...['EROFS', 'EACCES', 'undefined', 'EROFS'],
      'EROFS',
    ]);
  });

  it('[I7] is told of an object that is gone', async () => {
    const served = await bucket();
    await served.source.delete('top.txt', {});
    const messages = await told(
      served,
      `const name = path.join(ROOT, 'top.txt');
      const sync = (() => { try { fs.readFileSync(name); } catch (error) { return error.message; } })();
      const later = await fs.promises.open(name).catch((error) => error.message);
      console.log(JSON.stringify([sync, later]));`,
    );
    const message = `ENOENT: no such file or directory, open '${path.join(served.root, 'top.txt')}'`;
    expect(messages).toEqual([message, message]);
  });

  it('[I7] may be many processes and threads', async () => {
    const { interposer, root, bytesOf } = await bucket();
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
    const children = Array.from({ length: 3 }, () => run(interposer, process.execPath, [file]));
    for (const out of await Promise.all(children)) expect(JSON.parse(out)).toEqual(Array(5).fill(length));
  });
});
