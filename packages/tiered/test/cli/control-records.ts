import { SqliteRegistry } from '@tiered/cluster/registry';
import type { StageRecord } from '@tiered/control';

/** Longer than any test. */
const TTL_MS = 600_000;

type Source = StageRecord['sources'][string];

/** What a stage says that reads from one source. */
export interface TestStage extends Partial<Omit<StageRecord, 'v' | 'kind'>> {
  readonly job: string;
  readonly source?: string;
  readonly report?: Partial<Source>;
}

/** The record of a stage that wants everything. */
export function stageOf({ source = 'server:/export', report, ...rest }: TestStage): StageRecord {
  const used = { bytes: 40e6, operations: 400 };
  return {
    v: 1,
    kind: 'stage',
    node: 'node-1',
    terms: {},
    sources: { [source]: { wanted: {}, used, waits: 0.5, requestMs: 2, ...report } },
    tiers: {},
    ...rest,
  };
}

/** Puts the records of stages into a registry, as each stage does twice a second. */
export async function putStages(file: string, stages: readonly TestStage[]): Promise<void> {
  const registry = new SqliteRegistry({ path: file });
  await registry.open({});
  for (const [at, stage] of stages.entries()) {
    const entry = { slot: `stage.${at}`, owner: `stage-${at}`, record: stageOf(stage) };
    await registry.put(entry, { ttlMs: TTL_MS });
  }
  await registry.close();
}
