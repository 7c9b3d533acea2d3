import { Interposer } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeShim, makeDataset, run } from './helpers.js';

/** Opens a file, becomes somebody else, opens it again, and says where it was each time. */
const BECOME = `
import ctypes, os, sys
c = ctypes.CDLL(None)
nobody = 65534
def place():
    try: return os.path.realpath('/proc/self/fd/%d' % os.open(sys.argv[1], os.O_RDONLY))
    except PermissionError: return 'refused'
print(place())
eval(sys.argv[2])
print(place())
`;

const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot && process.env['CI'] !== 'true')(
  'copies that everyone may read (run as root)',
  () => {
    describeShim('under the shim', () => {
      async function placesOf(becomes: string): Promise<readonly string[]> {
        const dataset = makeDataset(['a']);
        const [tier = ''] = dataset.tiers;
        const file = path.join(dataset.source, 'a');
        fs.chmodSync(file, 0o600);
        const driver = new FileSystemDriver({ root: tier, writable: true, readableBy: 'everyone' });
        const interposer = await Interposer.open({
          hierarchy: {
            source: new FileSystemDriver({ root: dataset.source }),
            tiers: [{ driver, quota: '1GiB' }],
            placement: new PlacementHandler(),
          },
        });
        onTestFinished(() => interposer.close());
        await interposer.hierarchy.place('a');
        const said = await run(interposer, 'python3', ['-c', BECOME, file, becomes]);
        return said
          .trimEnd()
          .split('\n')
          .map((one) => (one === file ? 'source' : one.startsWith(`${tier}/`) ? 'copy' : one));
      }

      it.each([
        ...['os.setuid(nobody)', 'os.seteuid(nobody)', 'os.setreuid(nobody, nobody)'],
        ...['os.setresuid(-1, nobody, -1)', 'c.setfsuid(nobody)', '(os.setgroups([]), os.setuid(nobody))'],
      ])('[I2] are refused to a program that gave up root, by %s, as the source is', async (becomes) => {
        expect(await placesOf(becomes)).toEqual(['copy', 'refused']);
      });

      it.each([
        ...[
          'os.setgid(nobody)',
          'os.setegid(nobody)',
          'os.setregid(-1, nobody)',
          'os.setresgid(-1, nobody, -1)',
        ],
        ...['c.setfsgid(nobody)', 'os.setgroups([])', 'os.initgroups("nobody", nobody)'],
      ])('[I2] are left to the source after %s', async (becomes) => {
        expect(await placesOf(becomes)).toEqual(['copy', 'source']);
      });

      it.each([
        'os.setuid(0)',
        'os.setreuid(-1, 0)',
        'c.setfsuid(0)',
        'os.setgid(os.getgid())',
        'c.setfsuid(-1)',
      ])('are read by a program that becomes what it is, by %s', async (becomes) => {
        expect(await placesOf(becomes)).toEqual(['copy', 'copy']);
      });
    });
  },
);
