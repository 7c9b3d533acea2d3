import { describe, expect, it } from 'vitest';
import { NARROW, renderChart, WIDE } from '../../examples/mnist/chart.js';
import { parseOptions } from '../../examples/mnist/options.js';
import { COMPUTE, COPY, PLACES } from '../../examples/mnist/palette.js';
import { renderPage } from '../../examples/mnist/report.js';
import { caveatOf, figuresOf, takeawayOf } from '../../examples/mnist/summary.js';
import { DATASET, outcomes } from './outcomes.js';

const contents = { checks: [], dataset: DATASET, source: 'a <bucket>', options: parseOptions([]) };

describe('the takeaway of the demo', () => {
  it('leads with what was gained', () => {
    expect(takeawayOf(outcomes(), DATASET)).toBe(
      'tiered trained the model in 6.0 s, where a loop by hand took 10.0 s: 1.7 x as fast. ' +
        'With room for 56 % of the data, 3 epochs read 63 % of the bytes from the source.',
    );
  });

  it('does not call a gain what is none', () => {
    const slow = outcomes().map((outcome) =>
      outcome.setup.name === 'tiered'
        ? { ...outcome, epochs: outcome.epochs.map((epoch) => ({ ...epoch, seconds: 3.4 })) }
        : outcome,
    );
    expect(takeawayOf(slow, DATASET)).toContain(
      'in 10.2 s, where a loop by hand took 10.0 s, hardly another time.',
    );
  });

  it('stands on top of the report, before all else that has figures', () => {
    const page = renderPage({ ...contents, outcomes: outcomes() });
    const at = page.indexOf(takeawayOf(outcomes(), DATASET));
    expect(at).toBeGreaterThan(0);
    expect(at).toBeLessThan(page.indexOf('class="tiles"'));
  });

  it('needs the setups that it compares', () => {
    expect(() => takeawayOf(outcomes().slice(0, 3), DATASET)).toThrow('"tiered" has not run');
  });
});

describe('the tiles of the report', () => {
  it('compare tiered with a loop by hand, and have the hit ratio', () => {
    expect(
      figuresOf(outcomes(), DATASET).map(({ value, name, detail }) => `${value} ${name}: ${detail}`),
    ).toEqual([
      '1.7 x as fast as a loop by hand: 6.0 s instead of 10.0 s; 3.0 s is the bound',
      '56 % hit ratio in the last epoch: of the bytes came from tiers with room for 56 %',
      '63 % of the bytes from the source: 94.0 MB instead of 150.0 MB',
      '63 % of the operations at the source: 94 instead of 150',
      '50 % of the waiting for data: 3.0 s instead of 6.0 s',
    ]);
  });
});

describe('the banner of the report', () => {
  it('says that compute was the limit if the model waited less than a fifth of the time without tiers', () => {
    const run = outcomes({ waiting: 0.5 });
    expect(caveatOf(run)).toContain('with loop by hand the model waited for data 15 % of the time');
    const page = renderPage({ ...contents, outcomes: run });
    expect(page).toContain(`<p class="banner">${caveatOf(run)}</p>`);
    expect(page.indexOf('<p class="banner">')).toBeLessThan(page.indexOf('class="tiles"'));
  });

  it('is not there if reading was the limit', () => {
    expect(caveatOf(outcomes())).toBeUndefined();
    expect(renderPage({ ...contents, outcomes: outcomes() })).not.toContain('<p class="banner');
  });

  it('says that checks failed', () => {
    const checks = [
      { promise: 'one', ok: true },
      { promise: 'two', ok: false, seen: 'three' },
    ];
    const page = renderPage({ ...contents, outcomes: outcomes(), checks });
    expect(page).toContain('1 of 2 checks failed');
  });
});

describe('the chart of the demo', () => {
  it('has one colour for one thing', () => {
    const colours = [...Object.values(PLACES), COPY, COMPUTE];
    expect(new Set(colours).size).toBe(colours.length);
    for (const width of [WIDE, NARROW])
      for (const colour of colours) expect(renderChart(outcomes(), width)).toContain(`fill="${colour}"`);
  });

  it('hatches the time in which the model waited, and only that', () => {
    const patterns = (waiting: number) => {
      const bars = outcomes({ waiting }).slice(0, 1);
      const legends = 2;
      return (renderChart(bars, WIDE).match(/fill="url\(#/g) ?? []).length - legends;
    };
    expect(patterns(2)).toBe(3);
    expect(patterns(0)).toBe(0);
  });
});
