import fs from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { describe } from 'vitest';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) =>
  fs.existsSync(file),
);
const INSTALL = 'bash tools/servers/install.sh chromium';

/** Describes what is tested in a browser. Without one it is skipped, and a failure where `CI=true`. */
export function describeChromium(name: string, tests: () => void): void {
  describe.skipIf(CHROMIUM === undefined && process.env['CI'] !== 'true')(
    `${name} (needs ${INSTALL})`,
    tests,
  );
}

/** Starts a browser, which its caller closes. */
export async function launch(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error(`There is no Chromium: ${INSTALL}`);
  return chromium.launch({ executablePath: CHROMIUM });
}
