import { PAGE_STYLE } from '@tiered/simulator/report';

/** The look of all pages, and what only this one has. */
export const STYLE = `${PAGE_STYLE}
.pictures { display: flex; flex-wrap: wrap; gap: 16px; margin: 20px 0 0; }
figure { margin: 0; padding: 12px 16px; width: 474px; max-width: 100%; }
figcaption, caption { font-weight: 600; text-align: left; }
caption { padding: 8px 9px 6px; }
.legend { list-style: none; margin: 4px 0 8px; padding: 0; font-size: 13px; }
.key { display: inline-block; width: 12px; height: 12px; margin-right: 6px; }
tbody th { font-weight: 400; min-width: 90px; }
.remarks { font-size: 14px; color: var(--faint); }
`;
