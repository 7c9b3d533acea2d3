import fs from 'node:fs';

/** Node's own functions, as they are before `register` puts others in their places. */
export const real = {
  openSync: fs.openSync,
  readSync: fs.readSync,
  closeSync: fs.closeSync,
  readFileSync: fs.readFileSync,
  fstatSync: fs.fstatSync,
  statSync: fs.statSync,
  realpathSync: fs.realpathSync,
  open: fs.open,
  readFile: fs.readFile,
  fstat: fs.fstat,
  stat: fs.stat,
};

/** The same, of `node:fs/promises`. */
export const realPromises = {
  open: fs.promises.open,
  readFile: fs.promises.readFile,
  stat: fs.promises.stat,
};
