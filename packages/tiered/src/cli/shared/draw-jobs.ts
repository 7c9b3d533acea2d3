import { look } from '@tiered/control';
import { isTieredError, TieredError } from '@tiered/core';
import { viewLines } from '../../control-room/text.js';
import { viewOf } from '../../control-room/view.js';
import { messageOf } from '../../words.js';
import type { CommandHost } from '../host.js';
import type { ControlRegistryOptions } from '../options.js';
import { nobodyIn, withControlRegistry } from './control-registry.js';
import { drawAgain, widthOf, type DrawingOptions } from './drawing.js';

/**
 * Shows all jobs and sources again and again. A registry that is lost later is waited for.
 * @throws TieredError `TIERED_NOT_FOUND` if there is no job at first.
 */
export function drawJobs(host: CommandHost, options: ControlRegistryOptions & DrawingOptions): Promise<void> {
  return withControlRegistry(host, options, (registry) =>
    drawAgain(host, options, async (isFirst) => {
      try {
        const seen = await look(registry);
        if (isFirst && seen.stages.length === 0)
          throw new TieredError('TIERED_NOT_FOUND', nobodyIn(registry));
        const view = viewOf(seen);
        return { value: view, text: viewLines(view, widthOf(host)).join('\n') || 'no job is left' };
      } catch (error) {
        const isLost = isTieredError(error, 'TIERED_UNAVAILABLE') || isTieredError(error, 'TIERED_NOT_FOUND');
        if (isFirst || !isLost) throw error;
        const text = messageOf(error);
        return { value: { error: text }, text };
      }
    }),
  );
}
