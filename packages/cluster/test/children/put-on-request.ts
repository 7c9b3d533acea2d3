import type { RegistryEntry } from '../../src/registry/index.js';
import { registryOn, type Engine } from '../registry/engine.js';

// Opens a registry, and puts what it is sent.
const registry = registryOn(JSON.parse(process.argv[2] ?? '') as Engine);
await registry.open({});

process.on('message', (entry: RegistryEntry & { readonly ttlMs: number }) => {
  const { ttlMs, ...rest } = entry;
  registry.put(rest, { ttlMs }).then(
    (isMine) => process.send?.({ isMine }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
