/**
 * The contract of registries, which say which members are present, and the registries that need no server.
 */
export type { PutOptions, Registry, RegistryCallOptions, RegistryEntry } from './registry.js';
export { MemoryRecords, MemoryRegistry } from './memory-registry.js';
export { SqliteRegistry, type SqliteRegistryOptions } from './sqlite-registry.js';
export { StaticRegistry, type StaticMember, type StaticRegistryOptions } from './static-registry.js';
