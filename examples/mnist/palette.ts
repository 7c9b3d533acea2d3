import type { Place } from './setups.js';

/*
 * One colour for one thing, in every chart. They differ in lightness too, so that they can be told apart in
 * print and by readers who see few colours.
 */

export const PLACES: Readonly<Record<Place, string>> = { RAM: '#8fd6bd', disk: '#2b78bf', source: '#9a3412' };
export const COPY = '#cc79a7';
export const COMPUTE = '#334155';
/** What lies below the hatching of time in which the model waited. */
export const WAITING = '#e2e8f0';

/** Colours of the page, which turn round in dark mode. */
export const PAPER = '#ffffff';
export const INK = '#1f2933';
export const FAINT = '#616e7c';
export const LINES = '#e4e7eb';

/** A label's colour on a place's colour. */
export const ON_PLACES: Readonly<Record<Place, string>> = {
  RAM: '#102a43',
  disk: '#ffffff',
  source: '#ffffff',
};
