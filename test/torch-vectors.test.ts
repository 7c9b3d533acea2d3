import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readTorchVectors, type TorchVectors } from '../packages/prefetch/test/sampling/torch-vectors.js';
import { debianWith } from '../tools/frameworks/environments.js';

const SCRIPT = path.join(import.meta.dirname, '../tools/torch-vectors.py');
const INSTALL = 'bash tools/servers/install.sh frameworks';
/** Importing a PyTorch from a cold disk takes most of it. */
const LONG_MS = 300_000;

/** What this PyTorch draws is what is recorded, whatever its version. */
async function expectRecorded(python: string | undefined): Promise<void> {
  if (python === undefined) throw new Error(`PyTorch is missing, install it with: ${INSTALL}`);
  const { stdout } = await promisify(execFile)(python, [SCRIPT], { maxBuffer: 2 ** 24 });
  const drawn = JSON.parse(stdout) as TorchVectors;
  expect({ ...drawn, torch: '' }, `PyTorch ${drawn.torch}`).toEqual({ ...readTorchVectors(), torch: '' });
}

const debian = debianWith('torch');
it.skipIf(debian === undefined && process.env['CI'] !== 'true')(
  `[S3] Debian's PyTorch draws what is recorded (needs ${INSTALL})`,
  () => expectRecorded(debian),
  LONG_MS,
);

const newer = process.env['TIERED_TORCH_PYTHON'];
// CI has no such environment, and counts what is skipped as failed.
if (newer !== undefined || process.env['CI'] !== 'true')
  it.skipIf(newer === undefined)(
    '[S3] PyTorch of PyPI draws what is recorded (needs TIERED_TORCH_PYTHON, see CONTRIBUTING.md)',
    () => expectRecorded(newer),
    LONG_MS,
  );
