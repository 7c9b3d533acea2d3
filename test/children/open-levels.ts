import { Hierarchy, isTieredError } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';

/** Opens a hierarchy on directories, the source first and then its tiers, and prints what it said. */
const [root = '', manifest = '', ...tiers] = process.argv.slice(2);
const hierarchy = new Hierarchy({
  source: new FileSystemDriver({ root }),
  tiers: tiers.map((tier) => ({
    driver: new FileSystemDriver({ root: tier, writable: true }),
    quota: '1MiB',
  })),
  placement: new PlacementHandler(),
  ...(manifest === '' ? {} : { manifest }),
});
try {
  await hierarchy.open();
  process.stdout.write('opened');
} catch (error) {
  process.stdout.write(isTieredError(error) ? `${error.code}: ${error.message}` : String(error));
} finally {
  await hierarchy.close();
}
