import { listSequence, Prefetcher } from '@tiered/prefetch';
import { ThreadPrefetchClient, threadPort } from '@tiered/sharing';
import { expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { errorBody, errorFrom } from '../src/error-body.js';
import { encodeHead, SERVER_FRAMES } from '../src/wire/protocol.js';
import { servePrefetcher } from '../src/server/server.js';
import { next, objects, over } from './prefetching.js';
import { serving, socketPath, WELCOME } from './helpers.js';

it('[E1] [P7] errors have the key of their object in other threads and processes too', async () => {
  const prefetcher = new Prefetcher(await over(await objects([10])), listSequence(['0', 'taken']));
  const server = await servePrefetcher(prefetcher, { path: socketPath() });
  const clients = [new ThreadPrefetchClient(threadPort(prefetcher)), await PrefetchClient.connect(server)];
  onTestFinished(async () => {
    for (const client of clients) await client.close();
    await server.close();
    await prefetcher.close();
  });
  const missing = (key: string): unknown => expect.objectContaining({ code: 'TIERED_NOT_FOUND', key });
  for (const client of clients)
    await expect(client.readInto('named', new Uint8Array(1))).rejects.toEqual(missing('named'));
  expect((await next(prefetcher))?.key).toBe('0');
  for (const client of clients) await expect(client.take(1)).rejects.toEqual(missing('taken'));
});

it('[P7] an error without a key is understood, as older servers send it', async () => {
  const body = { code: 'TIERED_IO', message: 'x', retryable: true };
  const { path } = await serving(({ type, id }, socket) => {
    socket.write(type === 'hello' ? WELCOME : encodeHead(SERVER_FRAMES.error, id, body));
  });
  const client = await PrefetchClient.connect({ path });
  onTestFinished(() => client.close());
  const taking = client.take(1);
  await expect(taking).rejects.toMatchObject({ code: 'TIERED_IO', retryable: true });
  await expect(taking).rejects.not.toHaveProperty('key');
});

it('[P12] an error fits a frame, whatever its key', () => {
  for (const key of ['\u{10ffff}'.repeat(100_000), '\ud800', '\u{10ffff}'.repeat(2048), '']) {
    const message = '\u{10ffff}'.repeat(100_000);
    const body = errorBody(errorFrom({ code: 'TIERED_IO', message, retryable: false, key }));
    expect(() => encodeHead(SERVER_FRAMES.error, 1, body)).not.toThrow();
    expect(body.key).toBe(key.length <= 4096 && key.isWellFormed() ? key : undefined);
  }
});
