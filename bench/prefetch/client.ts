import { PrefetchClient } from '@tiered/sharing';
import type { Consumed } from './clients.js';

/** What `startClient` starts. */
const [, , path = '', transport = ''] = process.argv;

async function connect(): Promise<PrefetchClient> {
  const client = await PrefetchClient.connect({ path, sharesMemory: transport === 'memory' });
  if (client.transport !== transport)
    throw new Error(`samples come by the ${client.transport}, and not by ${transport}`);
  return client;
}

async function consume(client: PrefetchClient): Promise<void> {
  const before = process.cpuUsage();
  let bytes = 0;
  for await (const samples of client.batches(32)) for (const { data } of samples) bytes += data.byteLength;
  const consumed: Consumed = { bytes, ...process.cpuUsage(before) };
  process.send?.(consumed);
  await client.close();
  process.disconnect();
}

process.once('message', () => {
  void (async () => {
    const client = await connect();
    process.once('message', () => void consume(client));
    process.send?.('connected');
  })();
});
process.send?.('started');
