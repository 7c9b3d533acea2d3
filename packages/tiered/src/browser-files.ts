/*
 * What runs in browsers. The package ships it as it is in the sources. This file is as deep in them as its
 * build is in `dist`, so the same path leads there from both.
 */

/** The script of the control room. */
export const ROOM_SCRIPT = new URL('../src/control-room/browser/room.js', import.meta.url);

/** Its charts. */
export const CHARTS_SCRIPT = new URL('../src/control-room/browser/charts.js', import.meta.url);
