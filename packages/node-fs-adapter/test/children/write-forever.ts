import fs from 'node:fs';
import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Writes four objects over and over, all at the same time, until it is killed: two in pieces, and two at
// once. Says so on stdout with each piece.
const PIECES = 16;
const PIECE = 4096;

function say(text: string): void {
  try {
    fs.writeSync(1, text);
  } catch (error) {
    // The pipe is full: whoever counts has not read what was said before, and needs no more.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
}

async function* pieces(fill: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let i = 0; i < PIECES; i++) {
    say('.');
    yield new Uint8Array(PIECE).fill(fill);
  }
}

const driver = new FileSystemDriver({ root: process.argv[2] ?? '', writable: true });
await driver.open({});
for (let round = 0; ; round = (round + 1) % 60) {
  const write = (object: number) => {
    const fill = 4 * round + object;
    const data = object % 2 === 0 ? pieces(fill) : new Uint8Array(PIECES * PIECE).fill(fill);
    return driver.write(`dir/${object}`, data, { size: PIECES * PIECE });
  };
  await Promise.all([0, 1, 2, 3].map(write));
}
