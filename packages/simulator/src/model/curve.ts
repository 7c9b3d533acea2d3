/**
 * A throughput as it was measured: pairs of a number (of threads, or clients) and MB/s, by rising number.
 * Between two points it is interpolated. Below the first it falls in proportion: one of two threads is taken
 * for half of what both reach. Beyond the last point see `beyond`.
 */
export interface ThroughputCurve {
  /** `[number, MB/s]`, at least one. */
  readonly points: readonly (readonly [number, number])[];
  /**
   * The throughput beyond the last point. `'hold'` keeps that of the last point, as of a device that is
   * saturated. `'linear'` rises like the linear regression through all points (what NoPFS does, section
   * 5.2.2). Default: `'hold'`, which promises nothing that was not measured.
   */
  readonly beyond?: 'hold' | 'linear' | undefined;
}

/**
 * The throughput of this many threads or clients together, in MB/s.
 * @param curve What was measured.
 * @param many More than 0. Need not be whole, as an average number of clients is not.
 */
export function throughput({ points, beyond = 'hold' }: ThroughputCurve, many: number): number {
  let [fromAt, fromRate] = [0, 0];
  for (const [at, rate] of points) {
    if (many <= at) return fromRate + ((rate - fromRate) * (many - fromAt)) / (at - fromAt);
    [fromAt, fromRate] = [at, rate];
  }
  return beyond === 'hold' ? fromRate : fromRate + Math.max(0, slope(points)) * (many - fromAt);
}

/** The slope of the least-squares line through all points. */
function slope(points: ThroughputCurve['points']): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([at]) => at), mean(([, rate]) => rate)];
  const spread = mean(([at]) => (at - x) ** 2);
  return spread === 0 ? 0 : mean(([at, rate]) => (at - x) * (rate - y)) / spread;
}
