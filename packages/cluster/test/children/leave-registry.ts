import { SqliteRegistry } from '../../src/registry/index.js';

// Ends while its registry is open: in the middle of calls, or by having nothing to do any more.
const [path = '', how = ''] = process.argv.slice(2);
const registry = new SqliteRegistry({ path });
await registry.open({});
registry.watch(() => undefined);
const put = () => registry.put({ slot: 'rank-0', owner: 'a', record: 'x'.repeat(10_000) }, { ttlMs: 1000 });
for (let i = 0; i < 20; i++) await put();
if (how === 'exit') {
  for (let i = 0; i < 100; i++) void put();
  await put();
  process.exit(0);
}
