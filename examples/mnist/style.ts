import { PAGE_STYLE } from '@tiered/simulator/report';
import { COMPUTE, FAINT, INK, LINES, PAPER } from './palette.js';

/**
 * The look of all pages, and what only this one has. The chart is drawn in the colours of paper. In dark mode
 * text, lines and ground change where they stand. Bars keep their colours, but for compute, which is as dark
 * as the ground.
 */
export const STYLE = `${PAGE_STYLE}
@media (prefers-color-scheme: dark) {
  svg text[fill="${INK}"] { fill: var(--ink); }
  svg text[fill="${FAINT}"] { fill: var(--faint); }
  svg path[stroke="${LINES}"] { stroke: var(--lines); }
  svg path[stroke="${PAPER}"] { stroke: var(--paper); }
  svg rect[fill="${PAPER}"] { fill: var(--paper); }
  svg path[fill="${COMPUTE}"] { fill: #8094ad; }
}
.banner { border: 1px solid var(--warn-edge); border-left-width: 8px; border-radius: 8px; background: var(--warn); padding: 12px 16px; margin: 0 0 16px; font-weight: 600; }
.banner.failed { border-color: var(--bad); color: inherit; }
figure { margin: 20px 0 0; overflow: hidden; }
figure svg { width: 100%; }
.narrow { display: none; }
tbody + tbody { border-top: 1px solid var(--lines); }
tbody tr:last-child td { color: var(--faint); border-top: 1px dotted var(--lines); }
.checks { list-style: none; padding: 0; margin: 0; } .checks li { margin: 4px 0; padding-left: 24px; }
.checks li::before { display: inline-block; width: 24px; margin-left: -24px; font-weight: 700; }
.checks .ok::before { content: "✓"; color: var(--good); } .checks .failed::before { content: "✗"; } .checks .failed { color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 0; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 700px) {
  .narrow { display: block; } .broad { display: none; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: 8px; }
}
`;
