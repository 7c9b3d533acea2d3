import { formatBytes } from '@tiered/core';
import { countOf } from '../../words.js';

/** What is said of an endpoint when clients can come. */
export interface ServedFacts {
  readonly endpoint: string;
  readonly metricsEndpoint?: string | undefined;
  readonly buckets: readonly {
    readonly name: string;
    readonly prefix: string;
    readonly source: string;
    readonly objects: number;
  }[];
  readonly isSigned: boolean;
  /** The ids of the processes that listen there, and the bytes that each has in memory as tiers. */
  readonly processes: readonly number[];
  readonly memoryBytes: number;
}

/** What was done until the end. */
export interface ServedTotals {
  readonly answers: number;
  readonly bytes: number;
  readonly sourceBytes: number;
}

/** What is said when clients can come: the endpoint, the buckets, and how a client is configured. */
export function readyText(facts: ServedFacts, json = false): string {
  const { endpoint, metricsEndpoint, buckets, isSigned, processes, memoryBytes } = facts;
  if (json) {
    const told = buckets.map(({ name, prefix }) => ({ name, prefix }));
    return `${JSON.stringify({ endpoint, metricsEndpoint, buckets: told, isSigned, processes })}\n`;
  }
  const keys = isSigned ? 'with the keys that this command was given' : 'without keys, or with any';
  const memory = memoryBytes === 0 ? '' : `, each with ${formatBytes(memoryBytes)} of tiers in memory`;
  return [
    `ready: ${endpoint}`,
    ...buckets.map(
      ({ name, prefix, source, objects }) =>
        `  s3://${name}/${prefix} is ${source}, ${countOf(objects, 'object')}`,
    ),
    ...(processes.length === 1 ? [] : [`processes: ${processes.length}${memory}`]),
    ...(metricsEndpoint === undefined ? [] : [`watch: ${metricsEndpoint}/metrics, /healthz, /readyz`]),
    `clients: export AWS_ENDPOINT_URL_S3=${endpoint} AWS_REGION=us-east-1, ${keys}; buckets stand in the path`,
    '',
  ].join('\n');
}

/**
 * What is said at the end.
 * @param lost Processes that could not say what they did.
 */
export function summaryText(all: readonly ServedTotals[], lost = 0): string {
  const sum = (name: keyof ServedTotals) => all.reduce((total, one) => total + one[name], 0);
  return (
    `${countOf(sum('answers'), 'answer')} with ${formatBytes(sum('bytes'))}; ` +
    `${formatBytes(sum('sourceBytes'))} came from the source` +
    `${lost === 0 ? '' : `; not counted: ${countOf(lost, 'process', 'processes')} that did not end in order`}\n`
  );
}
