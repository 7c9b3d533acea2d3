/**
 * Reads files in one of many ways: `reads.mjs HOW PATH...`. The bytes go to standard output, in base64, and
 * what is said of the open file, in one line for each file.
 */
import { Buffer } from 'node:buffer';
import fs, { openSync, promises, readFile, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const { readFileSync: required } = createRequire(import.meta.url)('fs');

function byDescriptor(name, flags) {
  const fd = openSync(name, flags);
  const bytes = Buffer.alloc(fs.fstatSync(fd).size);
  fs.readSync(fd, bytes);
  fs.closeSync(fd);
  return bytes;
}

async function byHandle(handle) {
  const bytes = await handle.readFile();
  await handle.close();
  return bytes;
}

const aside = (name) =>
  `${path.dirname(name)}/./..//${path.basename(path.dirname(name))}/${path.basename(name)}`;

/** Each is one open. */
const WAYS = {
  readFileSync: (name) => readFileSync(name),
  'fs.readFileSync': (name) => fs.readFileSync(name, { flag: 'r' }),
  'require readFileSync': (name) => required(name),
  'readFileSync of text': (name) => Buffer.from(readFileSync(name, 'latin1'), 'latin1'),
  readFile: (name) => promisify(readFile)(name),
  'readFile with options': (name) => promisify(fs.readFile)(name, { encoding: null }),
  'promises.readFile': (name) => promises.readFile(name),
  'fs.promises.readFile': (name) => fs.promises.readFile(name, { flag: 'r' }),
  'fs/promises open': async (name) => byHandle(await open(name)),
  openSync: (name) => byDescriptor(name),
  'openSync with a number': (name) => byDescriptor(name, fs.constants.O_RDONLY),
  open: async (name) => {
    const fd = await promisify(fs.open)(name, 'r');
    const bytes = readFileSync(fd);
    fs.closeSync(fd);
    return bytes;
  },
  createReadStream: (name) => buffer(fs.createReadStream(name)),
  'createReadStream of a handle': async (name) => buffer((await promises.open(name)).createReadStream()),
  'a URL': (name) => readFileSync(pathToFileURL(name)),
  'a Buffer': (name) => readFileSync(Buffer.from(name)),
  'a relative path': (name) => {
    process.chdir(path.dirname(name));
    return readFileSync(path.basename(name));
  },
  'a path with dots': (name) => readFileSync(aside(name)),
  'a thread': (name) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: name });
      worker.once('message', (bytes) => resolve(Buffer.from(bytes)));
      worker.once('error', reject);
    }),
};

/**
 * How many different things are said of an open file and of its path, in numbers and in large ones, and
 * whether all times of an open copy are one.
 */
async function described(name) {
  const fields = ({ dev, ino, mode, uid, gid, size, mtimeMs, mtimeNs, mtime }) =>
    [dev, ino, mode, uid, gid, size, mtimeMs, mtimeNs, mtime.getTime()].join();
  const times = ({ atimeMs, mtimeMs, ctimeMs, birthtimeMs, nlink }) =>
    nlink == 1 && new Set([atimeMs, mtimeMs, ctimeMs, birthtimeMs]).size === 1;
  const handle = await open(name);
  const told = [];
  for (const options of [{}, { bigint: true }]) {
    const all = [
      await handle.stat(options),
      fs.fstatSync(handle.fd, options),
      await promisify(fs.fstat)(handle.fd, options),
      fs.statSync(name, options),
    ];
    told.push(new Set(all.map(fields)).size, all.slice(0, -1).every(times));
  }
  await handle.close();
  return told.join();
}

const [how, ...names] = process.argv.slice(2);
if (isMainThread)
  for (const name of names)
    console.log(how === 'described' ? await described(name) : (await WAYS[how](name)).toString('base64'));
else parentPort.postMessage(readFileSync(workerData));
