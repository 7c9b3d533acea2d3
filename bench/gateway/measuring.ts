import type { BenchOptions, Check, Row } from '../lib/bench.js';
import type { Client } from './client.js';

/** What the parts of the bench measure with, and where they put what they find. */
export interface Measuring {
  readonly scratch: string;
  readonly client: Client;
  readonly options: BenchOptions;
  readonly rows: Row[];
  readonly checks: Check[];
}
