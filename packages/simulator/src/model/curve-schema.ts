import { z } from 'zod';

/** A figure that is measured or planned. */
export const positive = z.number().positive();

/** A `ThroughputCurve` in a JSON document. */
export const curveSchema = z.strictObject({
  points: z
    .array(z.tuple([positive, positive]))
    .min(1)
    .refine((points) => points.every(([at], i) => i === 0 || at > (points[i - 1]?.[0] ?? 0)), {
      error: 'points have to come by rising number of threads or clients',
    }),
  beyond: z.enum(['hold', 'linear']).optional(),
});
