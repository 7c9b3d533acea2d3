import { COLORS } from '@tiered/simulator/report';
import type { Place } from './setups.js';

/*
 * One colour for one thing, in every chart. They differ in lightness too, so that they can be told apart in
 * print and by readers who see few colours.
 */

const [ram, disk] = COLORS.tiers;
export const PLACES: Readonly<Record<Place, string>> = { RAM: ram, disk, source: COLORS.source };
export const COPY = '#cc79a7';
export const COMPUTE = '#334155';
/** What lies below the hatching of time in which the model waited. */
export const WAITING = '#e2e8f0';

/** Colours of the page, which turn round in dark mode. */
export const { paper: PAPER, ink: INK, faint: FAINT, lines: LINES } = COLORS;

/** A label's colour on a place's colour. */
export const ON_PLACES: Readonly<Record<Place, string>> = {
  RAM: '#102a43',
  disk: '#ffffff',
  source: '#ffffff',
};
