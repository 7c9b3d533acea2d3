import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Everything that tests keep in temporary directories is in one, which goes with the run: test processes are ended before they can. */
export default function setup(): () => void {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tests-'));
  // As the directory above: other users, of whom there are some in tests, may look into what is theirs.
  fs.chmodSync(scratch, 0o755);
  process.env['TMPDIR'] = scratch;
  return () => fs.rmSync(scratch, { recursive: true, force: true });
}
