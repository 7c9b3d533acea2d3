import { PrefetchClient } from '@tiered/prefetch';

/** A process that takes its share of a prefetcher's samples, once it is told to begin. */
const [, , path = '', transport = ''] = process.argv;
const client = await PrefetchClient.connect({ path, sharesMemory: transport === 'memory' });
if (client.transport !== transport)
  throw new Error(`samples come by the ${client.transport}, and not by ${transport}`);
process.once('message', () => {
  void (async () => {
    let bytes = 0;
    for await (const samples of client.batches(32)) for (const { data } of samples) bytes += data.byteLength;
    process.send?.(bytes);
    await client.close();
    process.disconnect();
  })();
});
process.send?.('ready');
