// The linter's rules, and the arrows of the house: which folder under src may import which.
import { readdirSync, readFileSync } from 'node:fs'

const { dependencies, peerDependencies, devDependencies } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)
const packages = Object.keys({ ...dependencies, ...peerDependencies })

/** Folders that every other may import. They import each other only as `leafArrows` says. */
const leaves = ['protocol', 'money', 'crypto', 'http']

/**
 * What a folder may import besides itself, the leaves, `errors.ts` and `logger.ts`. The `surface` is
 * the files of src that wire the parts together: only those who use the finished gateway may reach up
 * to them.
 */
const arrows = {
  protocol: [],
  http: ['protocol'],
  crypto: ['protocol'],
  money: ['protocol', 'http'],
  ucp: leaves,
  idempotency: leaves,
  ledger: [...leaves, 'idempotency'],
  discovery: [...leaves, 'ledger'],
  merchants: [...leaves, 'ledger', 'schemes'],
  chain: leaves,
  relayer: [...leaves, 'chain', 'ledger'],
  schemes: [...leaves, 'relayer', 'chain', 'ledger'],
  facilitator: [...leaves, 'schemes', 'ledger', 'idempotency'],
  config: [...leaves, 'merchants', 'chain', 'facilitator', 'ledger', 'webhooks', 'protect'],
  webhooks: [...leaves, 'ledger'],
  health: [
    ...leaves,
    'merchants',
    'facilitator',
    'schemes',
    'relayer',
    'chain',
    'ledger',
    'idempotency',
  ],
  telemetry: [...leaves, 'facilitator', 'schemes', 'relayer', 'chain', 'ledger'],
  protect: [...leaves, 'discovery', 'merchants', 'facilitator', 'schemes', 'ledger', 'idempotency'],
  router: [
    ...leaves,
    'merchants',
    'facilitator',
    'schemes',
    'ledger',
    'idempotency',
    'discovery',
    'ucp',
    'webhooks',
  ],
  checkouts: [...leaves, 'merchants', 'ledger', 'protect'],
  console: [...leaves, 'merchants', 'facilitator', 'ledger', 'idempotency', 'router', 'health'],
  devnet: [...leaves, 'surface'],
  testing: [...leaves, 'surface', 'devnet'],
  cli: [
    ...leaves,
    'merchants',
    'ledger',
    'config',
    'surface',
    'devnet',
    'health',
    'ucp',
    'webhooks',
  ],
}

/** What asks for payments and takes them from outside: they know what a scheme is, but no scheme. */
const faces = ['merchants', 'protect', 'router']

/** What of `schemes/` they may not import: all but the interface and the events. */
const insideSchemes = readdirSync(new URL('../src/schemes', import.meta.url)).filter(
  (name) => !['scheme.ts', 'events.ts'].includes(name),
)

/** The packages a folder may not import. */
function forbiddenPackages(folder) {
  if (folder === 'protocol') return packages.filter((name) => name !== 'zod')
  return [
    'chain',
    'crypto',
    'relayer',
    'schemes',
    'config',
    'devnet',
    'testing',
    'health',
    'cli',
  ].includes(folder)
    ? []
    : ['viem']
}

/** Clients and transports belong to `chain/`; the local chain has a client of its own. */
const viemClients = {
  name: 'viem',
  importNames: [
    'createClient',
    'createPublicClient',
    'createTestClient',
    'createTransport',
    'createWalletClient',
    'custom',
    'fallback',
    'http',
    'webSocket',
  ],
  message: 'Only src/chain talks to a node.',
}

/** `way` leads from the importing file to src; elsewhere `index.js` is some folder's own. */
function forbiddenImports(folder, way) {
  const allowed = [folder, ...arrows[folder]]
  const message = `src/${folder} may not import this: see the arrows in .config/oxlint.mjs.`
  const folders = Object.keys(arrows).filter((name) => !allowed.includes(name))
  const regexes = [
    `^${way}(${folders.join('|')})/`,
    ...forbiddenPackages(folder).map((name) => `^${name}(/|$)`),
  ]
  if (faces.includes(folder))
    regexes.push(`^(\\.\\./)+schemes/(${insideSchemes.join('|').replaceAll('.ts', '.js')})`)
  if (!allowed.includes('surface'))
    regexes.push(`^${way}(index|gateway|default-gateway|sql)\\.js$`, `^${way}parts/`)
  return {
    patterns: regexes.map((regex) => ({ regex, message })),
    paths: ['chain', 'devnet'].includes(folder) ? [] : [viemClients],
  }
}

const houseRules = Object.keys(arrows).flatMap((folder) =>
  ['', '*/', '*/*/'].map((deeper) => ({
    files: [`**/src/${folder}/${deeper}*.ts`],
    rules: {
      'eslint/no-restricted-imports': [
        'error',
        forbiddenImports(folder, `(\\.\\./){${deeper.split('/').length}}`),
      ],
    },
  })),
)

/**
 * Pages are programs of their own, in the browser. Each folder: how many folders lead out of its
 * program, how many lead to src, and the packages that it may import.
 */
const pageFolders = [
  { folder: 'console/page', out: 1, toSource: 2, allowed: ['preact', 'uplot'] },
  { folder: 'console/page/*', out: 2, toSource: 3, allowed: ['preact', 'uplot'] },
  { folder: 'protect/paywall/page', out: 1, toSource: 3, allowed: ['preact'] },
  { folder: 'browser', out: 1, toSource: 1, allowed: ['preact', 'lean-qr'] },
]

/** What of `protocol/` is more than plain data. */
const notPlain = readdirSync(new URL('../src/protocol', import.meta.url))
  .map((name) => name.replace('.ts', ''))
  .filter((name) => !['contracts', 'typed-data'].includes(name))
  .join('|')

/** What a file of a page may not import; of src it may import `browser` only, plain data, and types of documents. */
function notForPages({ out, toSource, allowed }) {
  const folders = Object.keys(arrows).filter((name) => name !== 'protocol')
  const files = [
    ...folders.map((name) => `${name}/`),
    `protocol/(${notPlain})\\.js$`,
    '[a-z-]+\\.js$',
  ]
  const ways = [`^(\\.\\./){${toSource}}(${files.join('|')})`]
  for (let up = out; up < toSource; up++) ways.push(`^(\\.\\./){${up}}[^.]`)
  const notAllowed = [...packages, ...Object.keys(devDependencies)].filter(
    (name) => !allowed.includes(name),
  )
  return [...ways, `^(node:|(${notAllowed.join('|')})(/|$))`].join('|')
}

const pageRules = pageFolders.map((page) => ({
  files: [`**/src/${page.folder}/*.{ts,tsx}`],
  plugins: ['jsx-a11y', 'react'],
  rules: {
    'eslint/no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: notForPages(page),
            message: `A page imports itself, src/browser, and ${page.allowed.join(' and ')} only.`,
          },
        ],
      },
    ],
    'react/no-danger': 'error',
    // The runtime is Preact's, which takes `for`, `class` and `spellcheck` as HTML has them.
    'react/no-unknown-property': 'off',
    'react/react-in-jsx-scope': 'off',
    'react/jsx-key': 'off', // says so of lists of facts, which are keyed by their names
    'jsx-a11y/no-noninteractive-tabindex': 'off', // what scrolls must take the focus
    'jsx-a11y/media-has-caption': 'off', // sound that was bought has what its seller gave it
    'react/no-unstable-nested-components': 'off', // the cells of a table are functions, not components
    'jsx-a11y/prefer-tag-over-role': 'off', // a form with role=search is known to every screen reader
  },
}))

export default {
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'promise', 'node'],
  options: { typeAware: true },
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'eslint/eqeqeq': 'error',
    'eslint/no-var': 'error',
    'eslint/prefer-const': 'error',
    'import/no-cycle': 'error',
    'typescript/await-thenable': 'error',
    'typescript/consistent-type-exports': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'unicorn/prefer-node-protocol': 'error',

    // Says that `ajv.default` and `fc.assert` exist twice; they do.
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
    // Express augments its Request by a namespace and by side effect.
    'import/no-unassigned-import': 'off',
    'typescript/consistent-return': 'off', // tsc knows which switches are exhaustive
    'typescript/unbound-method': 'off', // the held response takes a response's methods apart
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-useless-spread': 'off',
    // `.catch(next)` is how Express is told.
    'promise/no-callback-in-promise': 'off',
    // What comes off the wire is narrowed by a check or a schema, and then by a cast.
    'typescript/no-unsafe-type-assertion': 'off',
  },
  overrides: [
    {
      files: ['**/src/**/*.{ts,tsx}'],
      rules: {
        'eslint/max-lines-per-function': ['error', { max: 60 }],
        'eslint/max-params': ['error', { max: 3 }],
        'eslint/no-console': 'error',
      },
    },
    ...houseRules,
    ...pageRules,
    {
      files: ['**/src/console/page/api/documents.ts'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: '.',
                allowTypeImports: true,
                message: 'The page has the types of the documents, not their schemas.',
              },
            ],
          },
        ],
      },
    },
    {
      // A list of endpoints is as long as there are endpoints.
      files: ['**/src/**/*-endpoints.ts'],
      rules: { 'eslint/max-lines-per-function': 'off' },
    },
    {
      files: ['**/test/**/*.ts'],
      plugins: ['jest'],
      rules: {
        'eslint/no-shadow': 'off',
        'typescript/no-unnecessary-type-parameters': 'off',
        'jest/no-conditional-expect': 'off', // a property may hold only of some inputs
        'jest/no-disabled-tests': 'error',
        'jest/no-focused-tests': 'error',
        'jest/no-identical-title': 'error',
        'jest/no-standalone-expect': ['error', { additionalTestBlockFunctions: ['step'] }],
        'jest/no-restricted-jest-methods': [
          'error',
          {
            mock: 'Pass the clock, the chain or the ledger in instead.',
            unstable_mockModule: 'Pass the clock, the chain or the ledger in instead.',
          },
        ],
        'jest/valid-expect': 'error',
        'jest/valid-title': 'error',
        'typescript/no-misused-spread': 'off',
        'unicorn/no-array-sort': 'off',
      },
    },
  ],
}
