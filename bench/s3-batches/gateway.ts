import { Hierarchy, MemoryDriver } from '@tiered/core';
import { Gateway } from '@tiered/gateway';
import { PlacementHandler } from '@tiered/tiering';
import { credentials, keyOf, type GatewayPlan } from './plan.js';

/**
 * A process of its own with a gateway, whose objects are all on a tier in memory. Answers each message with
 * the CPU time that it has taken so far, in microseconds. Ends with the process that forked it.
 */
const { objects, bytes } = JSON.parse(process.argv[2] ?? '{}') as GatewayPlan;
const source = new MemoryDriver();
await source.open({});
for (let i = 0; i < objects; i++) {
  await source.write(keyOf(i), new Uint8Array(bytes).fill(i), { size: bytes });
}
const tiers = [{ driver: new MemoryDriver(), quota: 2 * objects * bytes }];
const hierarchy = await new Hierarchy({ source, tiers, placement: new PlacementHandler() }).open();
for (let i = 0; i < objects; i++) await hierarchy.place(keyOf(i));
const gateway = await Gateway.start({ buckets: { data: { hierarchy } }, credentials });
process.once('disconnect', () => process.exit());
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.send?.(gateway.endpoint);
