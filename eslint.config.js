import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import jsdoc from 'eslint-plugin-jsdoc';
import tseslint from 'typescript-eslint';
import fs from 'node:fs';
import path from 'node:path';
import { LADDER } from './tools/ladder.js';

const useClock = 'Take the injected Clock of @tiered/core (systemClock in programs, ManualClock in tests).';
const useRandom = 'Take Random of @tiered/core: every draw comes from a seed and can be repeated.';
const useRealParts = 'Tests take real parts and the ManualClock: no mocks, no fake timers, no polling.';

const banGlobals = (...names) => ({
  'no-restricted-globals': [
    'error',
    { globals: names.map((name) => ({ name, message: useClock })), checkGlobalObject: true },
  ],
});

const banProperties = (message, properties) =>
  Object.entries(properties).flatMap(([object, names]) =>
    names.map((property) => ({ object, property, message })),
  );

const timeProperties = banProperties(useClock, {
  Date: ['now'],
  performance: ['now'],
  process: ['hrtime'],
  AbortSignal: ['timeout'],
});

const otherProperties = [
  ...banProperties(useRandom, { Math: ['random'] }),
  ...banProperties(useRealParts, { vi: ['mock', 'doMock', 'useFakeTimers', 'waitFor', 'waitUntil'] }),
];

const timeSyntax = [
  'NewExpression[callee.name="Date"][arguments.length=0]',
  'CallExpression[callee.name="Date"]',
].map((selector) => ({ selector, message: useClock }));

const timeModules = [
  { regex: '^(node:)?timers(/promises)?$', message: useClock },
  { regex: '^(node:)?perf_hooks$', importNames: ['performance'], message: useClock },
];

const noDeepImport = {
  regex: '^@tiered/[^/]+/(src|dist)(/|$)',
  message: 'Import what the package exports.',
};

const noTestParts = {
  regex: '^@tiered/(core/(testing|conformance)|s3-server)$',
  message: 'This is for tests only.',
};

const WAY_OUT = String.raw`^(\.\.\u002F)+([\w-]+\u002F(src|dist|test)\u002F|(packages|examples|bench|test|tools)\u002F)`;

const noWayOut = {
  regex: WAY_OUT,
  message: 'Import other packages by name: a relative path must not leave its package.',
};

const noParsers = {
  regex: '^@tiered/config(/|$)',
  message:
    'Only src/config.ts and the package tiered may load parsers: programs without a configuration go without.',
};

/** A dynamic import would escape the rules on imports, unless it is of a sibling that is allowed here. */
const noHiddenImport = (allowed = []) => ({
  selector: String.raw`ImportExpression[source.value=/^@tiered\u002F${butFor(allowed, String.raw`\u002F`)}|${WAY_OUT}/]`,
  message: 'Import this statically, so that the direction of imports can be checked.',
});

/** What a package's sources may import of their siblings, as the ladder says. */
function siblings(name, allowed) {
  const most = `packages/${name}/src may import of @tiered: ${allowed?.join(', ') || 'nothing'} (tools/ladder.js).`;
  const none = `tools/ladder.js has no row for packages/${name}. Add one that says what it may import.`;
  return { regex: `^@tiered/${butFor(allowed)}`, message: allowed === undefined ? none : most };
}

/** The packages, each with what it may import. One without a row may import nothing. */
const ROWS = fs.readdirSync(path.join(import.meta.dirname, 'packages')).map((name) => [name, LADDER[name]]);

function butFor(allowed = [], slash = '/') {
  return allowed.length > 0 ? `(?!(${allowed.join('|')})(${slash}|$))` : '';
}

const restrictImports = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });

export default defineConfig(
  { ignores: ['**/dist/', '**/coverage/', 'packages/*/build/', '.demo/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Numbers and booleans read well in messages; objects and undefined do not.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // `() => emitter.emit(...)` returning nothing is plain; only statements that look like values are not.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Contracts ask for promises (a throw becomes a rejection) also where there is nothing to await.
      '@typescript-eslint/require-await': 'off',
      // State changes while a function awaits. The rule does not see that, and would have the check after it
      // removed.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Spreading a string gives its code points, which is what keys and byte sizes are made of.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // `signal.reason` and caught errors are passed on as they came.
      '@typescript-eslint/only-throw-error': [
        'error',
        { allowThrowingAny: true, allowThrowingUnknown: true, allowRethrowing: true },
      ],
      '@typescript-eslint/prefer-promise-reject-errors': [
        'error',
        { allowThrowingAny: true, allowThrowingUnknown: true },
      ],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: { console: 'readonly', performance: 'readonly', process: 'readonly', URL: 'readonly' },
    },
  },
  {
    files: ['packages/tiered/src/control-room/browser/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'document',
          'EventSource',
          'fetch',
          'FormData',
          'getComputedStyle',
          'location',
          'uPlot',
          'window',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    rules: {
      ...banGlobals('setTimeout', 'setInterval', 'setImmediate'),
      'no-restricted-syntax': ['error', ...timeSyntax],
      'no-restricted-properties': ['error', ...timeProperties, ...otherProperties],
      ...restrictImports(...timeModules, noDeepImport),
      // tools/c/lint.js says the same of C.
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      // The formatter keeps code to its limit, and leaves comments as they are.
      'max-len': ['error', { code: 1000, comments: 110, ignoreUrls: true }],
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    plugins: { jsdoc },
    rules: {
      'no-restricted-syntax': ['error', ...timeSyntax, noHiddenImport()],
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: true,
          require: { FunctionDeclaration: true, ArrowFunctionExpression: true, ClassDeclaration: true },
          contexts: ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'],
          enableFixer: false,
        },
      ],
    },
  },
  ROWS.map(([name, allowed]) => ({
    files: [`packages/${name}/src/**/*.ts`],
    rules: restrictImports(
      ...timeModules,
      noDeepImport,
      noTestParts,
      noWayOut,
      noParsers,
      siblings(name, allowed),
    ),
  })),
  ROWS.map(([name, allowed]) => ({
    files: [`packages/${name}/src/config.ts`, ...(name === 'tiered' ? ['packages/tiered/src/**/*.ts'] : [])],
    rules: restrictImports(...timeModules, noDeepImport, noTestParts, noWayOut, siblings(name, allowed)),
  })),
  {
    // A command loads what it needs when it runs. What it may not load early is in .dependency-cruiser.mjs.
    files: ['packages/tiered/src/cli/commands/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...timeSyntax, noHiddenImport(LADDER.tiered)] },
  },
  {
    files: ['packages/*/test/**/*.ts'],
    rules: restrictImports(...timeModules, noDeepImport, noWayOut),
  },
  {
    files: ['**/*.test.ts'],
    rules: {
      // A `describe` is as long as its tests, and a file as long as its `describe`.
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      // The types of `expect.any(...)` and its like are `any`.
      '@typescript-eslint/no-unsafe-assignment': 'off',
    },
  },
  {
    // The one door to time, and what measures the machine itself.
    files: ['packages/core/src/support/clock.ts', 'bench/**/*.ts'],
    rules: {
      'no-restricted-globals': 'off',
      'no-restricted-syntax': 'off',
      'no-restricted-properties': ['error', ...otherProperties],
    },
  },
  { files: ['bench/**/*.ts'], rules: restrictImports(noDeepImport) },
  {
    // Lets the event loop turn, which takes no time.
    files: ['packages/core/src/testing/manual-clock.ts'],
    rules: banGlobals('setTimeout', 'setInterval'),
  },
);
