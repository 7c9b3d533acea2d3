// @ts-check
import fs from 'node:fs';

// Loaded ahead of everything: writes down, in the order in which
// they are made or have ended, the calls of node:fs on what lies below a directory. A line is `name path`, or
// `name path path`; the end of a call in the thread pool is `name! path`.
const root = `${process.env['RECORD_ROOT']}/`;
const file = process.env['RECORD_FILE'] ?? '';
const write = fs.writeSync;
const log = fs.openSync(file, 'a');
/** What descriptors are of. @type {Map<number, string>} */
const paths = new Map();

/** @param {string} name @param {...unknown} of */
function record(name, ...of) {
  const within = of.map((one) => (typeof one === 'number' ? paths.get(one) : one));
  if (!within.every((one) => typeof one === 'string' && `${one}/`.startsWith(root))) return;
  write(log, `${[name, ...within.map((one) => `${one}/`.slice(root.length, -1) || '.')].join(' ')}\n`);
}

/** Calls of one path or descriptor, or of two paths. */
const ONE = [
  'open',
  'fstat',
  'read',
  'fsync',
  'fdatasync',
  'stat',
  'lstat',
  'mkdir',
  'unlink',
  'rmdir',
  'readdir',
];
const TWO = ['rename', 'link'];

const calls = /** @type {Record<string, Function>} */ (/** @type {unknown} */ (fs));
const promises = /** @type {Record<string, Function>} */ (/** @type {unknown} */ (fs.promises));
for (const name of [...ONE, ...TWO]) {
  const count = TWO.includes(name) ? 2 : 1;
  const [callback, blocking, promised] = [calls[name], calls[`${name}Sync`], promises[name]];
  calls[name] = (/** @type {any[]} */ ...args) => {
    const of = args.slice(0, count);
    record(name, ...of);
    const done = args.pop();
    callback?.(...args, (/** @type {unknown} */ error, /** @type {any} */ value) => {
      record(`${name}!`, ...of);
      if (name === 'open' && !error) paths.set(value, args[0]);
      done(error, value);
    });
  };
  calls[`${name}Sync`] = (/** @type {any[]} */ ...args) => {
    record(name, ...args.slice(0, count));
    try {
      const value = blocking?.(...args);
      if (name === 'open') paths.set(value, args[0]);
      return value;
    } finally {
      record(`${name}!`, ...args.slice(0, count));
    }
  };
  promises[name] = async (/** @type {any[]} */ ...args) => {
    record(name, ...args.slice(0, count));
    try {
      return await promised?.(...args);
    } finally {
      record(`${name}!`, ...args.slice(0, count));
    }
  };
}
