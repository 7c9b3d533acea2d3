import { servePrefetcher } from '../../src/server/server.js';
import { ListReader } from '../list-reader.js';

/** What a process is to serve, until it is killed. */
export interface Served {
  readonly path: string;
  readonly sizes: readonly number[];
}

const { path, sizes } = JSON.parse(process.argv[2] ?? '') as Served;
await servePrefetcher(new ListReader(sizes), { path });
process.send?.('listening');
