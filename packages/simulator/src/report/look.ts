/**
 * The colours of bars; each stands for the same thing in every chart. They differ in lightness too, so that
 * they can be told apart in print, by readers who see few colours, and on a light and a dark background.
 */
export const COLORS = {
  /** The fastest tier first. */
  tiers: ['#8fd6bd', '#2b78bf', '#4a9c8c', '#9a86c8'],
  source: '#9a3412',
  waiting: '#d9822b',
  computing: '#829ab1',
  paper: '#ffffff',
  ink: '#1f2933',
  faint: '#616e7c',
  lines: '#e4e7eb',
} as const;

/**
 * The style of all report pages: a small headline, the verdict in large letters, tiles with the figures that
 * matter, then pictures and tables. It follows the colours of its reader.
 */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ground: #f5f7fa; --paper: ${COLORS.paper}; --ink: ${COLORS.ink}; --faint: ${COLORS.faint}; --lines: ${COLORS.lines};
  --good: #1b7a57; --bad: #b42318; --warn: #fff4d6; --warn-edge: #d99a00; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #12181f; --paper: #1b232c; --ink: #e4e7eb; --faint: #a3afbb; --lines: #34404c;
    --good: #5cc8a0; --bad: #ff8a7a; --warn: #3a2e10; --warn-edge: #d99a00; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1, li, p, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 16px; font-weight: 600; color: var(--faint); margin: 0 0 8px; }
h2 { font-size: 18px; margin: 36px 0 10px; }
.takeaway { font-size: clamp(20px, 3vw, 28px); line-height: 1.3; font-weight: 650; margin: 0 0 12px; text-wrap: pretty; }
.lead { color: var(--faint); margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 12px; margin: 24px 0 0; padding: 0; list-style: none; }
.tiles li, figure, .wide, pre { background: var(--paper); border: 1px solid var(--lines); border-radius: 8px; }
.tiles li { padding: 12px 16px; }
.tiles b { display: block; font-size: 30px; line-height: 1.2; }
.tiles span { display: block; } .tiles small { color: var(--faint); }
figure svg { display: block; max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 9px; text-align: right; }
td { white-space: nowrap; }
th { overflow-wrap: anywhere; }
th:first-child { text-align: left; vertical-align: top; }
thead th { color: var(--faint); font-weight: 600; border-bottom: 1px solid var(--lines); }
pre { padding: 12px 16px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 14px; }
@media (max-width: 700px) {
  main { padding: 20px 12px 40px; }
  .tiles { grid-template-columns: 1fr 1fr; } .tiles li { padding: 10px 12px; } .tiles b { font-size: 24px; }
}
@media print { main { max-width: none; padding: 0; } figure, .tiles li { break-inside: avoid; } }
`;
