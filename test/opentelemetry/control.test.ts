import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Control, setPolicy } from '@tiered/control';
import { MemoryDriver } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { observeControl } from '@tiered/opentelemetry';
import { expect, it, onTestFinished } from 'vitest';
import { metered, scraped, valuesOf } from './metered.js';

const SOURCE = 'server:/export';

/** Two jobs that share a source, for which an operator has set a budget of 60 MB/s. */
async function twoJobs() {
  const clock = new ManualClock();
  const records = new MemoryRecords(clock);
  const join = async (job: string) => {
    const control = await clock.run(Control.join({ registry: new MemoryRegistry(records), job, clock }));
    onTestFinished(() => clock.run(control.close()));
    control.source(new MemoryDriver(), { name: SOURCE });
    return control;
  };
  const [control] = [await join('imagenet'), await join('llm')];
  const registry = new MemoryRegistry(records);
  await registry.open({});
  const change = () => ({ sources: { [SOURCE]: { bytes: 60e6 } }, jobs: {}, nodes: {} });
  await clock.run(setPolicy(registry, change, { owner: 'operator' }));
  await clock.advance(2_000);
  return control;
}

it('observeControl gives a collector what a stage says and gets', async () => {
  const { meterProvider, collected } = await metered();
  const control = await twoJobs();
  const tiers = { 'file:///nvme/': { held: 2, share: 3 } };
  const observed = { shares: () => ({ ...control.shares(), tiers }), view: () => control.view() };
  const stop = observeControl(observed, { meterProvider, attributes: { rank: 0 } });
  const own = 'rank=0 tiered.control.job=imagenet';
  const ofSource = `${own} tiered.control.source=${SOURCE}`;
  const share = control.shares().sources[SOURCE]?.bytes ?? 0;
  expect(share).toBeGreaterThan(0.95 * 30e6);
  expect(share).toBeLessThanOrEqual(30e6);
  expect(valuesOf(await collected())).toEqual({
    'tiered.control.connected': { [own]: 1 },
    'tiered.control.stages': { [own]: 2 },
    'tiered.control.policy.revision': { [own]: 1 },
    'tiered.control.budget': { [ofSource]: 60e6 },
    'tiered.control.share': { [ofSource]: share },
    'tiered.control.wanted': { [ofSource]: 0 },
    'tiered.control.used': { [ofSource]: 0 },
    'tiered.control.waits': { [ofSource]: 0 },
    'tiered.control.tier.held': { [`${own} tiered.control.tier=file:///nvme/`]: 2 },
    'tiered.control.tier.share': { [`${own} tiered.control.tier=file:///nvme/`]: 3 },
  });
  stop();
});

it('observeControl says to Prometheus what the alerts ask for', async () => {
  const { meterProvider, page } = await scraped();
  const control = await twoJobs();
  const starving = () => {
    const { seen, decision } = control.view();
    const stages = seen.stages.map((stage) => {
      const sources = Object.entries(stage.sources).map(([name, source]) => [
        name,
        { ...source, waits: 0.9 },
      ]);
      return { ...stage, stall: 0.8, sources: Object.fromEntries(sources) as typeof stage.sources };
    });
    return { seen: { ...seen, stages }, decision };
  };
  const stop = observeControl({ shares: () => control.shares(), view: starving }, { meterProvider });
  const lines = (await page()).split('\n');
  const valueOf = (name: string) => lines.find((line) => line.startsWith(`${name}{`));
  expect(valueOf('tiered_control_waits')).toMatch(
    /tiered_control_job="imagenet".*tiered_control_source="server:\/export".* 0\.9$/,
  );
  expect(valueOf('tiered_control_stall')).toMatch(/tiered_control_job="imagenet".* 0\.8$/);
  expect(valueOf('tiered_control_connected')).toMatch(/ 1$/);
  stop();
});
