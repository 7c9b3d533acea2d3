/** Who is there: the contract of registries, and those that need no server. */
export type { PutOptions, Registry, RegistryCallOptions, RegistryEntry } from './registry.js';
export { MemoryRecords, MemoryRegistry } from './memory-registry.js';
export { SqliteRegistry, type SqliteRegistryOptions } from './sqlite-registry.js';
export { StaticRegistry, type StaticMember, type StaticRegistryOptions } from './static-registry.js';
