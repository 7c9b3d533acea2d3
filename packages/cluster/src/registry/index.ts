/** Who is there: the contract of registries, and those that need no server. */
export type { PutOptions, Registry, RegistryEntry } from './registry.js';
export { MemoryRecords, MemoryRegistry } from './memory-registry.js';
