// The linter's rules, and the arrows of the house: which folder under src may import which.
import { readdirSync, readFileSync } from 'node:fs'

const { dependencies, peerDependencies, devDependencies } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)
const packages = Object.keys({ ...dependencies, ...peerDependencies })

/** What each wing may import besides itself. Only those who use the finished gateway import `index.ts` and `sql.ts`, and nobody `mcp.ts`. */
const wings = {
  shared: [],
  ledger: ['shared'],
  core: ['shared', 'ledger'],
  operate: ['shared', 'ledger', 'core'],
  sell: ['shared', 'ledger', 'core'],
  api: ['shared', 'ledger', 'core', 'operate'],
  gateway: ['shared', 'ledger', 'core', 'operate', 'sell', 'api'],
  tools: ['shared', 'ledger', 'operate', 'gateway', 'index', 'sql'],
}

/** The rooms of a wing that stand on each other: what each may import of its own wing. */
const rooms = {
  shared: { protocol: [], http: ['protocol'], crypto: ['protocol'], money: ['protocol', 'http'] },
  core: {
    chain: [],
    relayer: ['chain'],
    schemes: ['chain', 'relayer'],
    facilitator: ['schemes'],
    merchants: ['schemes'],
    catalogue: [],
  },
}

/** What asks for payments and takes them from outside: they know what a scheme is, but no scheme. */
const faces = ['sell', 'api', 'core/merchants']

/** What of `schemes/` they may not import: all but the interface and the events. */
const insideSchemes = readdirSync(new URL('../src/core/schemes', import.meta.url)).filter(
  (name) => !['scheme.ts', 'events.ts'].includes(name),
)

/** Who may import viem. */
const viemUsers = /^(core\/(chain|relayer|schemes)|shared\/crypto|gateway|operate\/health|tools)/

/** The packages a folder may not import. */
function forbiddenPackages(folder) {
  if (folder === 'shared/protocol') return packages.filter((name) => name !== 'zod')
  return viemUsers.test(folder) ? [] : ['viem']
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
  message: 'Only src/core/chain talks to a node.',
}

/** What the files of a folder may not import, `deep` folders below src: of src, of their wing, and packages. */
function forbiddenImports(folder, deep) {
  const [wing, room] = folder.split('/')
  const allowed = [wing, ...wings[wing]]
  const way = (steps) => `^(\\.\\./){${steps}}`
  const others = ['pages', ...Object.keys(wings)].filter((name) => !allowed.includes(name))
  const files = ['index', 'mcp', 'sql'].filter((name) => !allowed.includes(name))
  const regexes = [
    `${way(deep)}(${others.join('|')})/`,
    ...forbiddenPackages(folder).map((name) => `^${name}(/|$)`),
    ...(files.length > 0 ? [`${way(deep)}(${files.join('|')})\\.js$`] : []),
  ]
  if (faces.includes(folder) || faces.includes(wing))
    regexes.push(`^(\\.\\./)+(core/)?schemes/(${insideSchemes.join('|').replaceAll('.ts', '.js')})`)
  const beside = rooms[wing]?.[room]
  if (beside !== undefined) {
    const above = Object.keys(rooms[wing]).filter((name) => ![room, ...beside].includes(name))
    regexes.push(`${way(deep - 1)}(${above.join('|')})/`)
  }
  const message = `src/${folder} may not import this: see the wings in .config/oxlint.mjs.`
  return {
    patterns: regexes.map((regex) => ({ regex, message })),
    paths: ['core/chain', 'tools/devnet'].includes(folder) ? [] : [viemClients],
  }
}

/** Folders with rules of their own: the wings, and rooms that stand on each other or have packages of their own. */
const ruled = [
  ...Object.keys(wings),
  ...Object.entries(rooms).flatMap(([wing, inner]) =>
    Object.keys(inner).map((room) => `${wing}/${room}`),
  ),
  'operate/health',
  'tools/devnet',
]

const houseRules = ruled.flatMap((folder) =>
  ['', '*/', '*/*/', '*/*/*/'].map((deeper) => ({
    files: [`**/src/${folder}/${deeper}*.ts`],
    rules: {
      'eslint/no-restricted-imports': [
        'error',
        forbiddenImports(folder, `${folder}/${deeper}`.split('/').length - 1),
      ],
    },
  })),
)

/**
 * Pages are programs of their own, in the browser. Each folder: how many folders lead out of its
 * program, and the packages that it may import.
 */
const pageFolders = [
  { folder: 'pages/console', out: 1, allowed: ['preact', 'uplot'] },
  { folder: 'pages/console/*', out: 2, allowed: ['preact', 'uplot'] },
  { folder: 'pages/paywall', out: 1, allowed: ['preact'] },
  { folder: 'pages/browser', out: 1, allowed: ['preact', 'lean-qr'] },
]

/** The files of a folder that pages may not import. */
const filesBut = (folder, plain) =>
  readdirSync(new URL(`../src/${folder}`, import.meta.url))
    .map((name) => name.replace(/\.ts$/, '\\.js$'))
    .filter((name) => !plain.some((one) => name === `${one}\\.js$`))
    .map((name) => `${folder}/${name}`)

/** What a file of a page may not import; of src it may import `pages/browser`, plain data, and types of documents. */
function notForPages({ out, allowed }) {
  const wingsButShared = Object.keys(wings).filter((name) => !['shared', 'sell'].includes(name))
  const files = [
    ...wingsButShared.map((name) => `${name}/`),
    ...['http', 'money', 'crypto'].map((name) => `shared/${name}/`),
    ...filesBut('shared', ['csv']).filter((name) => name.endsWith('$')),
    ...filesBut('shared/protocol', ['contracts', 'random-hex', 'signable-payment', 'typed-data']),
    'sell/(flow|route|hold|respond|links|discovery)/',
    ...filesBut('sell/paywall', ['page-data']),
    '[a-z-]+\\.js$',
  ]
  const notAllowed = [...packages, ...Object.keys(devDependencies)].filter(
    (name) => !allowed.includes(name),
  )
  return [
    `^(\\.\\./){${out + 1}}(${files.join('|')})`,
    `^(\\.\\./){${out}}(console|paywall|docs)/`,
    `^(node:|(${notAllowed.join('|')})(/|$))`,
  ].join('|')
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
            message: `A page imports itself, pages/browser, and ${page.allowed.join(' and ')} only.`,
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
    // MCP's own name.
    'eslint/no-underscore-dangle': ['error', { allow: ['_meta'] }],
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
      files: ['**/src/pages/console/api/documents.ts'],
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
