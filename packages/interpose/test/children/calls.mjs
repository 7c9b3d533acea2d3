/**
 * Calls the functions of `node:fs` that take a path in all their forms: `calls.mjs ROOT NAME...`. What they
 * say goes to standard output, as JSON, without what is the file system's own: owners, times, the sizes of
 * directories.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const [root, ...names] = process.argv.slice(2);
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'calls-'));
let copies = 0;

const short = (text) => (text.length < 300 ? text : createHash('sha256').update(text).digest('hex'));
const withoutRoot = (text) => short(text.replaceAll(root, 'ROOT'));
const sorted = (list) => [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

function plain(value) {
  if (Array.isArray(value)) return sorted(value.map(plain));
  if (Buffer.isBuffer(value)) return withoutRoot(value.toString('latin1'));
  if (typeof value === 'string') return withoutRoot(value);
  if (typeof value?.isFile !== 'function') return value;
  const kind = ['isFile', 'isDirectory', 'isSymbolicLink'].map((name) => value[name]());
  if (value.name !== undefined) return [plain(value.name), withoutRoot(value.parentPath), ...kind];
  return [...kind, typeof value.size, value.isFile() ? [value.size, value.blksize].join() : ''];
}

async function all(directory) {
  const entries = [plain(directory.path)];
  for await (const entry of directory) entries.push(plain(entry));
  return sorted(entries);
}

async function some(directory) {
  const entries = [];
  for (let entry = directory.readSync(); entry !== null; entry = await directory.read())
    entries.push(plain(entry));
  const last = await promisify(directory.read.bind(directory))();
  directory.closeSync();
  return [...sorted(entries), last];
}

function read(fd) {
  try {
    return fs.readFileSync(fd, 'latin1');
  } finally {
    fs.closeSync(fd);
  }
}

async function readHandle(handle) {
  try {
    const bytes = await handle.readFile('latin1');
    return [short(bytes), (await handle.stat()).size];
  } finally {
    await handle.close();
  }
}

const OPTIONS = {
  stat: [undefined, { bigint: true }],
  lstat: [undefined, { bigint: true }],
  access: [undefined, fs.constants.R_OK],
  realpath: [undefined, 'buffer', { encoding: 'latin1' }],
  readlink: [undefined],
  readdir: [undefined, 'buffer', { withFileTypes: true }, { recursive: true }],
  opendir: [undefined, { bufferSize: 1 }],
  readFile: [undefined, 'latin1', { encoding: 'base64', flag: 'r' }],
  open: ['r', 'rs', fs.constants.O_RDONLY, 'bogus'],
  copyFile: [undefined],
};

/** What becomes of a result before it is printed. */
const THEN = {
  opendir: async (directory, how) => (how === 'sync' ? some(directory) : all(directory)),
  open: async (opened) => (typeof opened === 'number' ? read(opened) : readHandle(opened)),
};

const FORMS = {
  sync:
    (name) =>
    (...args) =>
      fs[`${name}Sync`](...args),
  callback: (name) => promisify(fs[name]),
  promise:
    (name) =>
    (...args) =>
      fs.promises[name](...args),
};

async function said(name, form, file, option) {
  try {
    let args = [file, option];
    if (name === 'copyFile') args = [file, path.join(scratch, String(copies++))];
    const result = await FORMS[form](name)(...(option === undefined ? args.filter(Boolean) : args));
    if (name === 'copyFile') return short(fs.readFileSync(args[1], 'latin1'));
    return plain((await THEN[name]?.(result, form)) ?? result);
  } catch (error) {
    // Which call finds that nothing is there differs, and the target has another name each time.
    return [error.code, ['realpath', 'opendir', 'copyFile'].includes(name) || withoutRoot(error.message)];
  }
}

const results = [];
for (const name of names) {
  const file = name === '' ? root : path.join(root, name);
  for (const [call, options] of Object.entries(OPTIONS))
    for (const form of Object.keys(FORMS))
      for (const option of options)
        results.push([name, call, form, option, await said(call, form, file, option)]);
  const others = {
    existsSync: () => fs.existsSync(file),
    exists: () => promisify(fs.exists)(file),
    noThrow: () => fs.statSync(file, { throwIfNoEntry: false })?.isFile(),
    native: () => plain(fs.realpathSync.native(file)),
    nativeCallback: async () => plain(await promisify(fs.realpath.native)(file)),
    url: () => plain(fs.statSync(pathToFileURL(file))),
    buffer: () => plain(fs.statSync(Buffer.from(file))),
    dots: () =>
      plain(
        fs.statSync(`${path.dirname(file)}/./../${path.basename(path.dirname(file))}/${path.basename(file)}`),
      ),
    stream: async () => short((await buffer(fs.createReadStream(file))).toString('latin1')),
  };
  for (const [call, work] of Object.entries(others))
    results.push([
      name,
      call,
      await Promise.resolve()
        .then(work)
        .catch(({ code }) => code),
    ]);
}
fs.rmSync(scratch, { recursive: true });
console.log(results.map((result) => JSON.stringify(result)).join('\n'));
