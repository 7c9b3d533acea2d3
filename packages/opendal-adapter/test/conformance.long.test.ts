import fs from 'node:fs/promises';
import path from 'node:path';
import { driverConformance } from '@tiered/core/conformance';
import { OpenDalDriver } from '@tiered/opendal-adapter';
import { Operator } from 'opendal';
import { describe, inject, it } from 'vitest';
import { filesBelow, temporaryDirectory } from './helpers.js';

function subject(driver: OpenDalDriver) {
  return { driver, openResources: () => driver.callsUnderWay };
}

describe('OpenDalDriver for writing files', () => {
  driverConformance({
    test: it,
    wrapped: inject('nightly'),
    factory: async () => {
      const directory = await temporaryDirectory();
      const options = filesBelow(directory);
      return {
        ...subject(new OpenDalDriver({ service: 'fs', writable: true, options })),
        cleanUp: () => fs.rm(directory, { recursive: true }),
      };
    },
  });
});

describe('OpenDalDriver for reading files, behind a prefix of its own', () => {
  driverConformance({
    test: it,
    wrapped: inject('nightly'),
    factory: async () => {
      const root = await temporaryDirectory();
      const put = async (key: string, bytes: Uint8Array) => {
        const file = path.join(root, 'part', key);
        await fs.mkdir(path.dirname(file), { recursive: true });
        await fs.writeFile(`${file}.new`, bytes);
        await fs.rename(`${file}.new`, file);
      };
      await fs.writeFile(path.join(root, 'outside'), 'x');
      return {
        ...subject(
          new OpenDalDriver({
            ...{ service: 'fs', options: () => ({ root }), prefix: 'part/' },
            location: `file://${root}/`,
          }),
        ),
        put,
        cleanUp: () => fs.rm(root, { recursive: true }),
      };
    },
  });
});

describe('OpenDalDriver in memory', () => {
  driverConformance({
    test: it,
    wrapped: inject('nightly'),
    factory: () => subject(new OpenDalDriver({ service: 'memory', writable: true })),
  });
});

describe('OpenDalDriver with an operator of the user', () => {
  driverConformance({
    test: it,
    wrapped: inject('nightly'),
    factory: () => {
      const operator = new Operator('memory');
      return subject(new OpenDalDriver({ operator, service: 'memory', writable: true }));
    },
  });
});
