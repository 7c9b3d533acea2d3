import { PrefetchClient } from '@tiered/sharing';

/**
 * A process that takes its share of a prefetcher's samples: it connects when it is told to, and begins when
 * it is told so again.
 */
const [, , path = '', transport = ''] = process.argv;

async function connect(): Promise<PrefetchClient> {
  const client = await PrefetchClient.connect({ path, sharesMemory: transport === 'memory' });
  if (client.transport !== transport)
    throw new Error(`samples come by the ${client.transport}, and not by ${transport}`);
  return client;
}

async function consume(client: PrefetchClient): Promise<void> {
  let bytes = 0;
  for await (const samples of client.batches(32)) for (const { data } of samples) bytes += data.byteLength;
  process.send?.(bytes);
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
