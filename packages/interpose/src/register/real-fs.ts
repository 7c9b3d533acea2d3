import fs from 'node:fs';

/** Node's own functions, as they are before `register` puts others in their places. */
export const real: typeof fs = { ...fs };

/** The same, of `node:fs/promises`. */
export const realPromises: typeof fs.promises = { ...fs.promises };
