/** What can be done to a payment on its way: to its JSON, its header, and the request around it. */
import { gzipSync } from 'node:zlib'
import { PROJECT_TOKEN } from '../../../src/shared/protocol/headers.js'
import { asVersion1 } from '../../support/version-1.js'
import type { PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { TOKENS } from './targets.js'
import type { Document, Mutation, MutationContext, Verdict, WireRequest } from './mutation.js'

type Verdicts = Mutation['verdict']
type Change<Value, Result = Value> = (value: Value, context: MutationContext) => Result
type Rows<C> = readonly (readonly [name: string, verdict: Verdicts, change: C])[]

const atRoutes =
  (there: Verdict, elsewhere: Verdict): Verdicts =>
  ({ target }) =>
    target.isApi ? elsewhere : there

const withMember = (text: string, member: string): string => `{${member},${text.slice(1)}`
const withLastMember = (text: string, member: string): string => `${text.slice(0, -1)},${member}}`
const nested = (levels: number): string => `"deep":${'['.repeat(levels)}${']'.repeat(levels)}`
const escaped = (name: string): string =>
  [...name].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const members = Object.entries(value).toReversed()
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]))
}

const version =
  (written: string) =>
  (text: string): string =>
    text.replace('"x402Version":2', `"x402Version":${written}`)

/** A document in other words, and what is no document. */
export const TEXTS: readonly Mutation[] = (
  [
    ['indented', 'accepted', (text) => JSON.stringify(JSON.parse(text), undefined, 1)],
    [
      'members in the other order',
      'accepted',
      (text) => JSON.stringify(reversed(JSON.parse(text))),
    ],
    [
      'escaped names',
      'accepted',
      (text) => text.replace(/"(\w+)":/g, (_, name: string) => `"${escaped(name)}":`),
    ],
    ['white space around', 'accepted', (text) => `\r\n\t ${text}\n\n`],
    ['a byte order mark', 'either', (text) => `\ufeff${text}`],
    ['a no-break space before', 'refused', (text) => `\u00a0${text}`],
    ['a comment', 'refused', (text) => `/* */${text}`],
    ['single quotes', 'refused', (text) => text.replaceAll('"', "'")],
    ['a trailing comma', 'refused', (text) => `${text.slice(0, -1)},}`],
    ['something after it', 'refused', (text) => `${text}0`],
    ['the document twice', 'refused', (text) => text + text],
    ['in a list', 'refused', (text) => `[${text}]`],
    ['in a text', 'refused', (text) => JSON.stringify(text)],
    ['cut', 'refused', (text) => text.slice(0, -2)],
    ['null', 'refused', () => 'null'],
    ['a number', 'refused', () => '2'],
    ['an empty text', 'refused', () => ''],
    ['nothing in it', 'refused', () => '{}'],
    [
      'an earlier member of the same name',
      'accepted',
      (text) => withMember(text, '"accepted":null,"payload":null,"paymentPayload":5'),
    ],
    [
      'a later member of the same name',
      'refused',
      (text) => withLastMember(text, '"payload":null,"paymentPayload":null'),
    ],
    ['a number beyond all', 'accepted', (text) => withMember(text, '"memo":1e999')],
    ['a long number', 'accepted', (text) => withMember(text, `"memo":${'9'.repeat(500)}`)],
    ['many levels', 'accepted', (text) => withMember(text, nested(50))],
    ['too many levels', 'refused', (text) => withMember(text, nested(80))],
    ['thousands of levels', 'refused', (text) => withMember(text, nested(4000))],
    ['many members', 'accepted', (text) => withMember(text, manyMembers(200))],
    ['a lone surrogate', 'accepted', (text) => withMember(text, String.raw`"memo":"\ud83d"`)],
    ['a null character', 'accepted', (text) => withMember(text, String.raw`"memo":"\u0000"`)],
    ['a name that is empty', 'accepted', (text) => withMember(text, '"":{"":""}')],
    [
      'no UTF-8',
      atRoutes('refused', 'either'),
      (text) =>
        Buffer.concat([
          Buffer.from('{"memo":"'),
          Buffer.from([0xff, 0xc0, 0x80]),
          Buffer.from(`",${text.slice(1)}`),
        ]),
    ],
    ['UTF-16', 'refused', (text) => Buffer.from(text, 'utf16le')],
  ] satisfies Rows<Change<string, string | Buffer>>
)
  .map(([name, verdict, change]): Mutation => ({
    stage: 'text',
    name: `JSON: ${name}`,
    parts: ['text'],
    verdict,
    change,
  }))
  .concat(
    ['2.0', '2e0', '20E-1', '0.2e+1', '2.00000000000000000001'].map((written): Mutation => ({
      stage: 'text',
      name: `JSON: ${written} as version`,
      parts: ['text', 'x402Version'],
      verdict: 'accepted',
      change: version(written),
    })),
  )

function manyMembers(count: number): string {
  return Array.from({ length: count }, (_, index) => `"m${index}":0`).join(',')
}

/** The header of a route that carries a payment. */
export const HEADER = 'PAYMENT-SIGNATURE'
const OLDER_HEADER = 'X-PAYMENT'

const paymentOf = ({ headers }: WireRequest): string =>
  headers.find(([name]) => name === HEADER)?.[1] ?? ''

type Headers = WireRequest['headers']

/** Puts other headers in the place of the payment's. */
const inPlace =
  (make: (value: string, context: MutationContext) => Headers) =>
  (request: WireRequest, context: MutationContext): WireRequest => ({
    ...request,
    headers: [
      ...request.headers.filter(([name]) => name !== HEADER),
      ...make(paymentOf(request), context),
    ],
  })

const value = (change: (value: string) => string) => inPlace((text) => [[HEADER, change(text)]])
const beside =
  (...headers: Headers) =>
  (request: WireRequest): WireRequest => ({ ...request, headers: [...request.headers, ...headers] })
const encoded = (payment: object): string => Buffer.from(JSON.stringify(payment)).toString('base64')
const swapped = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)

const AT_ROUTES: Rows<Change<WireRequest>> = [
  ['base64url', 'accepted', value((text) => Buffer.from(text, 'base64').toString('base64url'))],
  ['no padding', 'accepted', value((text) => text.replace(/=+$/, ''))],
  ['a name in lower case', 'accepted', inPlace((text) => [[HEADER.toLowerCase(), text]])],
  ['a name in mixed case', 'accepted', inPlace((text) => [['Payment-Signature', text]])],
  ['white space around', 'accepted', value((text) => `\t ${text} \t`)],
  ['its older name', 'accepted', inPlace((text) => [[OLDER_HEADER, text]])],
  [
    'both names',
    'accepted',
    inPlace((text) => [
      [OLDER_HEADER, text],
      [HEADER, text],
    ]),
  ],
  ['something else under its older name', 'accepted', beside([OLDER_HEADER, 'bm90IGEgcGF5bWVudA'])],
  [
    'another payment under its older name',
    'accepted',
    (request, { other }) => beside([OLDER_HEADER, encoded(other)])(request),
  ],
  [
    'only its older name has the payment',
    'refused',
    inPlace((text) => [
      [HEADER, 'bm90IGEgcGF5bWVudA'],
      [OLDER_HEADER, text],
    ]),
  ],
  [
    'the header twice',
    'refused',
    inPlace((text) => [
      [HEADER, text],
      [HEADER, text],
    ]),
  ],
  [
    'another payment in a second header',
    'refused',
    inPlace((text, { other }) => [
      [HEADER, text],
      [HEADER, encoded(other)],
    ]),
  ],
  [
    'an empty second header',
    'refused',
    inPlace((text) => [
      [HEADER, text],
      [HEADER, ''],
    ]),
  ],
  ['a list of it', 'refused', value((text) => `${text},${text}`)],
  ['a space in it', 'refused', value((text) => `${text.slice(0, 40)} ${text.slice(40)}`)],
  ['quotes around', 'refused', value((text) => `"${text}"`)],
  ['a scheme before it', 'refused', value((text) => `x402 ${text}`)],
  ['escaped for a URL', 'refused', value((text) => encodeURIComponent(`${text}==`))],
  ['base64 twice', 'refused', value((text) => Buffer.from(text).toString('base64'))],
  ['hexadecimal', 'refused', value((text) => Buffer.from(text, 'base64').toString('hex'))],
  ['plain JSON', 'refused', value((text) => printable(Buffer.from(text, 'base64')))],
  ['in lower case', 'refused', value((text) => text.toLowerCase())],
  ['empty', 'refused', value(() => '')],
  ['padding alone', 'refused', value(() => '==')],
  ['half of it', 'refused', value((text) => text.slice(0, (text.length >> 3) * 4))],
  ['one character less', 'either', value((text) => text.replace(/=+$/, '').slice(0, -1))],
  ['another first character', 'refused', value((text) => swapped(text, 0))],
  [
    'another character',
    'either',
    (request, { random }) =>
      value((text) => swapped(text, Math.floor(random.next() * text.length)))(request, {} as never),
  ],
  ['bytes beyond ASCII', 'refused', value((text) => `\u00ef\u00bb\u00bf${text}`)],
  ['too long', 'refused', value((text) => text + 'A'.repeat(17_000))],
  ['none', 'refused', inPlace(() => [])],
  ['a cookie', 'refused', inPlace((text) => [['Cookie', `${HEADER}=${text}; payment=${text}`]])],
  ['authorization', 'refused', inPlace((text) => [['Authorization', `Bearer ${text}`]])],
  [
    'the query',
    'refused',
    (request) => ({
      ...inPlace(() => [])(request, {} as never),
      path: `${request.path}${request.path.includes('?') ? '&' : '?'}payment=${encodeURIComponent(paymentOf(request).slice(0, 4000))}`,
    }),
  ],
  ['an Idempotency-Key beside it', 'accepted', beside(['Idempotency-Key', 'generated'])],
  ['another host beside it', 'accepted', beside(['X-Forwarded-Host', 'evil.example'])],
  ['a receipt beside it', 'accepted', beside(['PAYMENT-RESPONSE', encoded({ success: true })])],
  ['a wish for HTML beside it', 'either', beside(['Accept', 'text/html'])],
  ['a wish for a part beside it', 'either', beside(['Range', 'bytes=0-1'])],
  ['another query', 'either', ({ path, ...request }) => ({ ...request, path: `${path}&x=1` })],
  [
    'upper-case path',
    'either',
    ({ path, ...request }) => ({
      ...request,
      path: path.replace(/^[^?]+/, (all) => all.toUpperCase()),
    }),
  ],
  ['a slash more', 'either', ({ path, ...request }) => ({ ...request, path: `/${path}` })],
]

/** The query says what it costs, and is quoted. */
const OTHER_PRICES: Rows<Change<WireRequest>> = [1, 9].map((cents) => [
  `asks for ${cents} ct`,
  'refused',
  (request) => ({ ...request, path: request.path.replace(/cents=3/, `cents=${cents}`) }),
])

const PLANS: Rows<Change<WireRequest>> = [
  ['the dearer plan', 'refused', beside(['X-Plan', 'dear'])],
  [
    'another route of its URL',
    'either',
    ({ path, ...request }) => ({ ...request, path: `${path}/twin` }),
  ],
]

/** Routes with one resource URL would be one good. */
const ELSEWHERE: Rows<Change<WireRequest>> = [
  ['another merchant', 'refused', (request) => ({ ...request, path: '/other' })],
  ['another price', 'refused', (request) => ({ ...request, path: '/charged/10' })],
]

const version1 = (request: WireRequest, overrides?: object): string =>
  encoded(asVersion1(decoded(paymentOf(request)) as unknown as PaymentPayload, overrides))
const decoded = (text: string): Document =>
  JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as Document
const printable = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[^\t\x20-\x7e\x80-\xff]/g, ' ')
const asOlder =
  (overrides?: object) =>
  (request: WireRequest): WireRequest =>
    inPlace(() => [[OLDER_HEADER, version1(request, overrides)]])(request, {} as never)

const whereVersion1: Verdicts = ({ target }) => (target.takesVersion1 ? 'accepted' : 'refused')

/** The same authorization as version 1 writes it. What it does not have is lost. */
const VERSION_1: Rows<Change<WireRequest>> = [
  ['as written', whereVersion1, asOlder()],
  ['of another scheme', 'refused', asOlder({ scheme: 'upto' })],
  ['of another chain', 'refused', asOlder({ network: 'base' })],
  ['of a chain that is a method', 'refused', asOlder({ network: 'constructor' })],
  ['by its CAIP-2 name', 'either', asOlder({ network: 'eip155:84532' })],
  ['that is a text', 'refused', asOlder({ x402Version: '1' })],
  [
    'in the header of version 2',
    'refused',
    (request) => value(() => version1(request))(request, {} as never),
  ],
]

const header =
  (name: string, ...others: readonly string[]) =>
  (request: WireRequest) => ({
    ...request,
    headers: [
      ...request.headers.filter(([one]) => one !== name),
      ...others.map((text) => [name, text] as const),
    ],
  })
const otherToken = (request: WireRequest): WireRequest =>
  header(
    PROJECT_TOKEN,
    Object.values(TOKENS).find((token) => token !== tokenOf(request))!,
  )(request)
const tokenOf = ({ headers }: WireRequest): string =>
  headers.find(([name]) => name === PROJECT_TOKEN)?.[1] ?? ''
const body =
  (change: (body: string) => string | Buffer, ...headers: Headers) =>
  (request: WireRequest): WireRequest => ({
    ...request,
    headers: [...request.headers, ...headers],
    body: change(String(request.body)),
  })
const TYPE = 'Content-Type'
const KEY = 'Idempotency-Key'

const AT_API: Rows<Change<WireRequest>> = [
  ['a type with its charset', 'accepted', header(TYPE, 'application/json; charset=utf-8')],
  ['a type in upper case', 'accepted', header(TYPE, 'APPLICATION/JSON')],
  ['plain text', 'refused', header(TYPE, 'text/plain')],
  ['a form', 'refused', header(TYPE, 'application/x-www-form-urlencoded')],
  ['no type', 'refused', header(TYPE)],
  ['another charset', 'either', header(TYPE, 'application/json; charset=utf-7')],
  ['no token', 'refused', header(PROJECT_TOKEN)],
  ['an empty token', 'refused', header(PROJECT_TOKEN, '')],
  ['the token of another project', 'refused', (request) => otherToken(request)],
  [
    'a token in upper case',
    'refused',
    (request) => header(PROJECT_TOKEN, tokenOf(request).toUpperCase())(request),
  ],
  [
    'a token cut',
    'refused',
    (request) => header(PROJECT_TOKEN, tokenOf(request).slice(0, -1))(request),
  ],
  ['a token of a prototype', 'refused', header(PROJECT_TOKEN, '__proto__')],
  [
    'the token twice',
    'refused',
    (request) => header(PROJECT_TOKEN, tokenOf(request), tokenOf(request))(request),
  ],
  [
    'the token of plugins',
    'accepted',
    (request) => beside(['X-API-Key', tokenOf(request)])(header(PROJECT_TOKEN)(request)),
  ],
  [
    'a key',
    'accepted',
    (request, { random }) => header(KEY, `generated-${random.next()}`)(request),
  ],
  ['an empty key', 'either', header(KEY, '')],
  ['a key that is long', 'either', header(KEY, 'k'.repeat(300))],
  ['a key in Unicode', 'either', header(KEY, '\u00e9\u00ff')],
  ['two keys', 'either', header(KEY, 'generated-one', 'generated-two')],
  ['gzip', 'accepted', body((text) => gzipSync(text), ['Content-Encoding', 'gzip'])],
  ['no gzip', 'refused', body((text) => text, ['Content-Encoding', 'gzip'])],
  ['an unknown encoding', 'refused', body((text) => text, ['Content-Encoding', 'rot13'])],
  ['too much', 'refused', body((text) => text + ' '.repeat(70_000))],
  ['no body', 'refused', body(() => '')],
  ['a form', 'refused', body((text) => `body=${encodeURIComponent(text)}`)],
  ['a payment in a header beside it', 'accepted', beside([HEADER, 'bm90IGEgcGF5bWVudA'])],
  ['a query', 'accepted', ({ path, ...request }) => ({ ...request, path: `${path}?_=1` })],
  ['a slash after', 'either', ({ path, ...request }) => ({ ...request, path: `${path}/` })],
]

const make =
  (fits: Mutation['fits'], parts: readonly string[], title: string) =>
  ([name, verdict, change]: Rows<Change<WireRequest>>[number]): Mutation => ({
    stage: 'request',
    name: `${title}: ${name}`,
    parts,
    verdict,
    fits,
    change,
  })

/** What a request carries the payment in, and with. */
export const REQUESTS: readonly Mutation[] = [
  ...AT_ROUTES.map(make(({ isApi }) => !isApi, ['request'], 'header')),
  ...OTHER_PRICES.map(make(({ path }) => path.startsWith('/priced'), ['request'], 'path')),
  ...PLANS.map(make(({ path }) => path.startsWith('/plans'), ['request'], 'path')),
  ...ELSEWHERE.map(
    make(
      ({ isApi, project, charges }) => !isApi && project === 'shop' && charges === undefined,
      ['request'],
      'path',
    ),
  ),
  ...VERSION_1.map(
    make(
      ({ isApi }, { name }) => !isApi && name === 'erc3009',
      ['request', 'text', 'accepted', 'resource', 'x402Version', 'extensions'],
      'version 1',
    ),
  ),
  ...AT_API.map(make(({ isApi }) => isApi, ['request'], 'request')),
]
