import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { worksUntilGo } from './functions.js';

writeFileSync(path.join(process.env['TIERED_TEST_GO'] ?? '', 'loaded'), '');

/** As `worksUntilGo`, of a module that writes `loaded` into the directory when it is. */
export default worksUntilGo;
