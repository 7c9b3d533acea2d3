import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { CLUSTER_METRICS } from '../src/metrics/cluster.js';
import { CONTROL_METRICS } from '../src/metrics/control.js';
import { HIERARCHY_METRICS } from '../src/metrics/hierarchy.js';
import { PREFETCHER_METRICS } from '../src/metrics/prefetcher.js';

it('docs/observing.md has a row for each metric, with its unit', () => {
  const page = fs.readFileSync(path.join(import.meta.dirname, '../../../docs/observing.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(tiered\.[\w.]+)` \| `([^`]+)` \|/gm)].map(
    ([, name, unit]) => `${name} ${unit}`,
  );
  const tables = [HIERARCHY_METRICS, CLUSTER_METRICS, CONTROL_METRICS, PREFETCHER_METRICS];
  const metrics = tables.flatMap((table) => table.map(({ name, unit }) => `${name} ${unit}`));
  expect(rows).toEqual(metrics);
});

it('docs/prometheus/alerts.yml asks for metrics and attributes that there are', () => {
  const file = path.join(import.meta.dirname, '../../../docs/prometheus/alerts.yml');
  const asked = new Set(fs.readFileSync(file, 'utf8').match(/tiered_[a-z_]+/g));
  const known = CONTROL_METRICS.map(({ name }) => name.replaceAll('.', '_'));
  const attributes = ['tiered_control_job', 'tiered_control_source'];
  expect([...asked].filter((name) => !known.includes(name)).sort()).toEqual(attributes);
  expect(asked.size).toBeGreaterThan(4);
});
