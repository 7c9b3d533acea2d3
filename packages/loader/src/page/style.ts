/** Of the page. Dark grounds keep the colors of bars, which are chosen for both. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1f2933; --ground: #ffffff; --line: #cbd2d9; --box: #f5f7fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --ground: #16191d; --line: #3e4c59; --box: #1f252b; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--ground); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 16px; }
h1, li, p, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 24px; }
h2 { font-size: 18px; margin: 28px 0 8px; }
.pictures { display: flex; flex-wrap: wrap; gap: 24px; }
figure { margin: 0; width: 440px; max-width: 100%; }
figcaption, caption { font-weight: 600; text-align: left; }
caption { padding-bottom: 6px; }
svg { display: block; max-width: 100%; height: auto; }
.legend { list-style: none; margin: 4px 0 8px; padding: 0; font-size: 13px; }
.key { display: inline-block; width: 12px; height: 12px; margin-right: 6px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 12px; background: var(--box); font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); text-align: right; }
td { white-space: nowrap; }
th:first-child { text-align: left; }
tbody th { font-weight: 400; min-width: 90px; }
.remarks { font-size: 13px; }
`;
