import { COMPUTE, FAINT, INK, LINES, PAPER } from './palette.js';

/**
 * The page's style. The chart is drawn in the colours of paper. In dark mode text, lines and ground change
 * where they stand. Bars keep their colours, but for compute, which is as dark as the ground.
 */
export const STYLE = `
:root { color-scheme: light dark; --ground: #f5f7fa; --paper: ${PAPER}; --ink: ${INK}; --faint: ${FAINT}; --lines: ${LINES};
  --good: #1b7a57; --bad: #b42318; --warn: #fff4d6; --warn-edge: #d99a00; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #12181f; --paper: #1b232c; --ink: #e4e7eb; --faint: #a3afbb; --lines: #34404c;
    --good: #5cc8a0; --bad: #ff8a7a; --warn: #3a2e10; --warn-edge: #d99a00; }
  svg text[fill="${INK}"] { fill: var(--ink); }
  svg text[fill="${FAINT}"] { fill: var(--faint); }
  svg path[stroke="${LINES}"] { stroke: var(--lines); }
  svg path[stroke="${PAPER}"] { stroke: var(--paper); }
  svg rect[fill="${PAPER}"] { fill: var(--paper); }
  svg path[fill="${COMPUTE}"] { fill: #8094ad; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 16px; font-weight: 600; color: var(--faint); margin: 0 0 8px; }
h2 { font-size: 18px; margin: 36px 0 10px; }
.takeaway { font-size: clamp(20px, 3vw, 28px); line-height: 1.3; font-weight: 650; margin: 0 0 12px; text-wrap: pretty; }
.lead { color: var(--faint); margin: 0; }
.banner { border: 1px solid var(--warn-edge); border-left-width: 8px; border-radius: 8px; background: var(--warn); padding: 12px 16px; margin: 0 0 16px; font-weight: 600; }
.banner.failed { border-color: var(--bad); color: inherit; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 12px; margin: 24px 0 0; padding: 0; list-style: none; }
.tiles li, figure, .wide, pre { background: var(--paper); border: 1px solid var(--lines); border-radius: 8px; }
.tiles li { padding: 12px 16px; }
.tiles b { display: block; font-size: 30px; line-height: 1.2; }
.tiles span { display: block; } .tiles small { color: var(--faint); }
figure { margin: 20px 0 0; overflow: hidden; }
figure svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 9px; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; vertical-align: top; }
thead th { color: var(--faint); font-weight: 600; border-bottom: 1px solid var(--lines); }
tbody + tbody { border-top: 1px solid var(--lines); }
tbody tr:last-child td { color: var(--faint); border-top: 1px dotted var(--lines); }
.checks { list-style: none; padding: 0; margin: 0; } .checks li { margin: 4px 0; padding-left: 24px; overflow-wrap: anywhere; }
.checks li::before { display: inline-block; width: 24px; margin-left: -24px; font-weight: 700; }
.checks .ok::before { content: "✓"; color: var(--good); } .checks .failed::before { content: "✗"; } .checks .failed { color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 0; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
pre { padding: 12px 16px; overflow-x: auto; }
@media (max-width: 700px) {
  main { padding: 20px 12px 40px; }
  .tiles { grid-template-columns: 1fr 1fr; } .tiles li { padding: 10px 12px; } .tiles b { font-size: 24px; }
  .narrow { display: block; } .broad { display: none; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: 8px; }
}
@media print { main { max-width: none; padding: 0; } figure, .tiles li { break-inside: avoid; } }
`;
