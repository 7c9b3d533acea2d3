import { accessAnalysis } from '@tiered/prefetch/sampling';
import { renderAccesses } from '@tiered/simulator/report';
import { expect, it } from 'vitest';

it('renderAccesses draws what is expected, and what was counted on both sides of the threshold', () => {
  const analysis = accessAnalysis({ epochs: 40, workers: 4, samples: 1_000 });
  const counted = analysis.distribution.map(Math.round);
  const draw = () => renderAccesses({ title: 'a < b', analysis, counted });
  const svg = draw();
  expect(svg).toMatch(/^<svg /);
  expect(svg).toContain('a &lt; b');
  expect(svg).toContain('up to 11 reads');
  expect(svg).toContain('12 and more');
  const bars = (color: string) => svg.split(`fill="${color}"`).length - 1;
  const shown = (from: number, to: number) => counted.subarray(from, to).filter((count) => count > 0).length;
  // One more each is in the legend.
  expect(bars('#829ab1')).toBeGreaterThanOrEqual(shown(0, 12));
  expect(bars('#d9822b')).toBeGreaterThanOrEqual(shown(12, 41));
  expect(draw(), 'the same again').toBe(svg);
});
