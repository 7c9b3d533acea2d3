/** Two processes that serve at one port by `node:cluster`, as a program of a user would. For clustered.ts. */
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { Gateway, mergedMetrics, type GatewayMetrics } from '@tiered/gateway';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()];
  const endpoints = await Promise.all(workers.map(answerOf<string>));
  process.send?.({ endpoints });
  process.on('message', () => {
    const told = workers.map((worker) => {
      worker.send('metrics');
      return answerOf<GatewayMetrics>(worker);
    });
    void Promise.all(told)
      .then(mergedMetrics)
      .then((text) => process.send?.({ text }));
  });
  // The others end with this one.
  process.once('disconnect', () => process.exit());
} else {
  const source = new MemoryDriver();
  await source.open({});
  await source.write('k', Buffer.from('hello'), { size: 5 });
  const hierarchy = await new Hierarchy({ source }).open();
  const gateway = await Gateway.start({ buckets: { data: { hierarchy } }, limits: { connections: 2 } });
  process.on('message', () => void gateway.metrics().then((metrics) => process.send?.(metrics)));
  process.send?.(gateway.endpoint);
}

async function answerOf<T>(worker: Worker): Promise<T> {
  const [answer] = (await once(worker, 'message')) as [T];
  return answer;
}
