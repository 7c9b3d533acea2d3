/** Shares samples with threads and other processes. @module */
export { PrefetchClient, type PrefetchClientOptions } from './client/client.js';
export {
  servePrefetcher,
  type PrefetchServer,
  type PrefetchServerEvents,
  type ServePrefetcherOptions,
} from './server/server.js';
export { ThreadPrefetchClient } from './thread/thread-client.js';
export { threadPort } from './thread/thread-host.js';
