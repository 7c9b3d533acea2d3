import fc from 'fast-check';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import { bucket, KEYS, LEAVES_ALL } from './bucket.js';
import { temporaryDirectory } from './helpers.js';

/** The longest message that means something. */
const MOST_BYTES = 4098;

/** Resolves when a connection is closed, however it ended. */
const closeOf = (connection: net.Socket) =>
  new Promise<void>((resolve) => connection.once('close', () => resolve()));

/** A daemon that needs no shim. */
async function daemon() {
  const at = path.join(temporaryDirectory(), 'session');
  const made = await bucket({ at, policy: LEAVES_ALL });
  const connect = async () => {
    const connection = net.connect(path.join(at, 'socket'));
    // Whoever talks nonsense may be cut off.
    connection.on('error', () => undefined);
    await once(connection, 'connect');
    return connection;
  };
  /** What the daemon answers to a question, before the connection ends. */
  const ask = async (question: string | Buffer): Promise<string> => {
    const connection = await connect();
    connection.write(question);
    let answer = '';
    for await (const chunk of connection.setEncoding('utf8') as AsyncIterable<string>) {
      answer += chunk;
      if (answer.endsWith('\0')) break;
    }
    return answer;
  };
  /** Says something, and ends: at once, or when the daemon has said what it has to say. */
  const say = async (parts: readonly Uint8Array[], isAbrupt: boolean): Promise<void> => {
    const connection = await connect();
    connection.resume();
    for (const part of parts) connection.write(part);
    const closed = closeOf(connection);
    if (isAbrupt) connection.destroy();
    else connection.end();
    await closed;
  };
  return { ...made, connect, ask, say };
}

type Served = Awaited<ReturnType<typeof daemon>>;

/** Expects right answers, and that the daemon comes to rest. */
async function answers({ ask, bytesOf, interposer }: Served): Promise<void> {
  for (const key of KEYS) {
    const answer = await ask(`o${key}\0`);
    expect(answer).toMatch(/^\+\/.*\0$/s);
    expect(Buffer.compare(fs.readFileSync(answer.slice(1, -1)), bytesOf(key))).toBe(0);
  }
  expect(await ask('da\0')).toBe('+\0');
  expect(await ask('onothing\0')).toMatch(/^-2\0$/);
  // Nothing is held for those who are gone.
  await interposer.idle();
}

const letter = fc.constantFrom('o', 'd', '', 'x', '\0', '+', '-');
const question = fc
  .tuple(letter, fc.constantFrom(...KEYS, 'a', '', '..', '/', 'a/'), fc.constantFrom('\0', '', '\0\0'))
  .map(([kind, key, end]) => Buffer.from(`${kind}${key}${end}`));
const part = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  question,
  // Cut off somewhere, also within a character.
  fc.tuple(question, fc.nat(20)).map(([bytes, length]) => bytes.subarray(0, length)),
);

it('[I5] the daemon answers programs, whatever others say', async () => {
  const served = await daemon();
  await answers(served);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.array(part, { maxLength: 8 }), fc.boolean()), { minLength: 1, maxLength: 6 }),
      async (others) => {
        const talking = others.map(([parts, isAbrupt]) => served.say(parts, isAbrupt));
        expect(await served.ask('otop.txt\0')).toMatch(/^\+\/.*\0$/s);
        await Promise.all(talking);
      },
    ),
    { numRuns: 60 },
  );
  await answers(served);
});

it.each([
  ['a line', Buffer.alloc(8 * 2 ** 20, 'x')],
  ['a question', Buffer.concat([Buffer.from('o'), Buffer.alloc(MOST_BYTES, 'x')])],
])('[I5] the daemon refuses %s that is longer than any question, and answers others', async (_, bytes) => {
  const served = await daemon();
  const connection = await served.connect();
  const closed = closeOf(connection);
  let answer = '';
  connection.setEncoding('utf8').on('data', (text: string) => (answer += text));
  connection.write(bytes);
  // It does not wait for an end.
  await closed;
  // It may be cut off before it has heard why.
  expect(['-36\0', '']).toContain(answer);
  await answers(served);
});

it('[I5] the daemon cuts off who says what is no message, and answers others', async () => {
  const served = await daemon();
  expect(await served.ask('xtop.txt\0')).toBe('');
  await answers(served);
});

it('[I5] the daemon takes a question in any number of pieces, and waits for nobody who never ends one', async () => {
  const served = await daemon();
  const silent = await served.connect();
  silent.write('otop');
  await answers(served);
  const heard = once(silent.setEncoding('utf8'), 'data');
  for (const piece of ['.', 't', 'xt', '\0']) silent.write(piece);
  expect(await heard).toEqual([expect.stringMatching(/^\+\/.*\0$/s)]);
  silent.destroy();
  await served.interposer.idle();
});

it('[I5] the daemon answers others while somebody asks, and never listens', async () => {
  const served = await daemon();
  const deaf = await served.connect();
  deaf.pause();
  // Each answer is longer than its question, and nobody takes them: it is not served to the end.
  const closed = closeOf(deaf);
  deaf.write('otop.txt\0'.repeat(200_000));
  for (const key of KEYS) expect(await served.ask(`o${key}\0`)).toMatch(/^\+\/.*\0$/s);
  await closed;
  await answers(served);
});
