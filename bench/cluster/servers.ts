import { RedisServers } from '../../tools/servers/redis.js';
import type { Served } from '../gateway/contestants.js';
import { nginxCache } from '../gateway/nginx.js';
import type { Source } from '../gateway/source.js';
import { startOne } from '../gateway/started.js';

/** What nodes share, in a process of its own. */
export interface SharedServer {
  /** Undefined: there is none. */
  readonly pid?: number;
  /** Where nodes read in place of the source. */
  readonly endpoint?: string;
  /** Where copies of the source are. */
  readonly redis?: string;
  close(): Promise<void>;
}

type Start = (
  source: Source,
  served: Pick<Served, 'dataset' | 'directory' | 'quota'>,
) => Promise<SharedServer>;

/** What Redis needs beside the bytes of objects: its classes of sizes, and the buffers of its clients. */
const OWN_PART = 1.25;
const OWN_BYTES = 32 * 2 ** 20;

/** A caching proxy on the disk, or a storage in RAM that evicts by LRU, with room for `quota` bytes. */
export const SERVERS: Readonly<Record<'none' | 'nginx' | 'redis', Start>> = {
  none: async () => ({ close: () => Promise.resolve() }),
  nginx: async (source, served) => {
    const { server, endpoint } = await startOne(nginxCache(1), source, served);
    return { pid: server.pid, endpoint, close: () => server.close() };
  },
  redis: async (_, { quota }) => {
    const servers = new RedisServers();
    const maxmemory = `${Math.ceil(quota * OWN_PART) + OWN_BYTES}`;
    const server = await servers.start({ maxmemory, 'maxmemory-policy': 'allkeys-lru' });
    const redis = `redis://127.0.0.1:${server.port}`;
    return { pid: await server.pid(), redis, close: () => servers.close() };
  },
};
