import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** A new, empty directory. */
export function temporaryDirectory(): Promise<string> {
  return fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
}

/** Creates or replaces a file and the directories above it, as another program would. */
export async function putFile(root: string, key: string, bytes: Uint8Array): Promise<void> {
  const filePath = path.join(root, key);
  await fs.mkdir(path.dirname(filePath), { recursive: true });
  await fs.writeFile(`${filePath}.new`, bytes);
  await fs.rename(`${filePath}.new`, filePath);
}
