import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const textOf = (name: string) => fs.readFileSync(path.join(root, name), 'utf8');

/** A package as its manifest has it, and its directory below `packages`. */
interface Package {
  readonly directory: string;
  readonly name: string;
  readonly private?: boolean;
}

const packages = fs.readdirSync(path.join(root, 'packages')).map((directory) => ({
  directory,
  ...(JSON.parse(textOf(`packages/${directory}/package.json`)) as Omit<Package, 'directory'>),
}));

/** A place outside of a package that has to know it. */
interface Place {
  readonly file: string;
  /** What stands there if the package does. */
  readonly text: string;
  /** What to do if it does not. */
  readonly advice: string;
  /** Whether only users need it. */
  readonly published?: boolean;
}

const placesOf = ({ directory, name }: Package): Place[] => [
  {
    file: 'tools/ladder.js',
    text: `  ${/^\w+$/.test(directory) ? directory : `'${directory}'`}: [`,
    advice: 'add a row that says what the package may import',
  },
  {
    file: 'ARCHITECTURE.md',
    text: `\n**${directory}** `,
    advice: `add a paragraph that begins with **${directory}**`,
  },
  { file: 'package-lock.json', text: `"packages/${directory}": {`, advice: 'run npm install' },
  {
    file: 'README.md',
    text: `[\`${name}\`](packages/${directory})`,
    advice: 'add a row to the table of packages',
    published: true,
  },
  {
    file: 'packages/tiered/src/doctor/bundle.ts',
    text: `'${directory}'`,
    advice: 'add the package to PACKAGES, so that reports have its version',
    published: true,
  },
];

/** What is still to be done for a package to be one of the project, as CONTRIBUTING.md says. */
const missingFor = (one: Package): string[] =>
  placesOf(one)
    .filter(({ published = false }) => !published || one.private !== true)
    .filter(({ file, text }) => !textOf(file).includes(text))
    .map(({ file, advice }) => `${file}: ${advice}`);

describe('a package', () => {
  it.each(packages)('$directory is wherever packages are listed', (one) => {
    expect(missingFor(one)).toEqual([]);
  });

  it('is missed in each place', () => {
    const told = missingFor({ directory: 'none-adapter', name: '@tiered/none-adapter' });
    expect(told).toHaveLength(5);
    expect(missingFor({ directory: 'none', name: '@tiered/none', private: true })).toHaveLength(3);
  });
});
