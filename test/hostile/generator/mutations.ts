/** What can be done to a payment of any kind, in groups that are equally likely. */
import type { Hex } from '../../../src/shared/protocol/payment.js'
import {
  ADDRESS_FORMS,
  flipDigit,
  NUMBER_FORMS,
  SIGNATURE_FORMS,
  UINT_FORMS,
  WORD_FORMS,
  type Form,
} from './forms.js'
import type { Kind, Terms } from './kind.js'
import {
  memberAt,
  setMember,
  type Document,
  type Mutation,
  type MutationContext,
  type Verdict,
} from './mutation.js'
import type { Target } from './targets.js'
import { REQUESTS, TEXTS } from './wire.js'

type Fits = Mutation['fits']

const STRANGER: Hex = `0x${'5'.repeat(40)}`
const nowSeconds = (): bigint => BigInt(Math.floor(Date.now() / 1000))

/** What a wallet may sign otherwise. The signature is good. */
const TERMS: readonly Mutation[] = (
  [
    ['amount', 'one unit less', 'refused', ({ amount }) => ({ amount: amount - 1n })],
    ['amount', 'one unit more', 'refused', ({ amount }) => ({ amount: amount + 1n })],
    ['amount', 'nothing', 'refused', () => ({ amount: 0n })],
    ['amount', 'everything', 'refused', () => ({ amount: 2n ** 256n - 1n })],
    ['amount', 'ten times as much', 'refused', ({ amount }) => ({ amount: amount * 10n })],
    ['payTo', 'another payee', 'refused', () => ({ payTo: STRANGER })],
    ['payTo', 'the token as payee', 'refused', ({ token }) => ({ payTo: token })],
    ['payTo', 'nobody as payee', 'refused', () => ({ payTo: `0x${'0'.repeat(40)}` })],
    ['token', 'another token', 'refused', () => ({ token: STRANGER })],
    ['chainId', 'another chain', 'refused', () => ({ chainId: 8453 })],
    ['chainId', 'no chain', 'refused', () => ({ chainId: 0 })],
    ['validAfter', 'from the beginning', 'accepted', () => ({ validAfter: 0n })],
    ['validAfter', 'from tomorrow', 'refused', () => ({ validAfter: nowSeconds() + 86_400n })],
    ['validAfter', 'from in a minute', 'refused', () => ({ validAfter: nowSeconds() + 60n })],
    ['validAfter', 'in milliseconds', 'refused', () => ({ validAfter: nowSeconds() * 1000n })],
    // What may cost nothing is kept until it lapses: not for long.
    ['validBefore', 'for ever', 'either', () => ({ validBefore: 2n ** 256n - 1n })],
    ['validBefore', 'in milliseconds', 'either', () => ({ validBefore: nowSeconds() * 1000n })],
    ['validBefore', 'until yesterday', 'refused', () => ({ validBefore: nowSeconds() - 86_400n })],
    ['validBefore', 'until now', 'refused', () => ({ validBefore: nowSeconds() })],
    ['validBefore', 'for three seconds', 'refused', () => ({ validBefore: nowSeconds() + 3n })],
    ['validBefore', 'never', 'refused', () => ({ validBefore: 0n })],
    ['nonce', 'zero as its nonce', 'accepted', () => ({ nonce: `0x${'0'.repeat(64)}` })],
    ['nonce', 'the highest nonce', 'accepted', () => ({ nonce: `0x${'f'.repeat(64)}` })],
  ] satisfies [keyof Terms, string, Verdict, (terms: Terms) => Partial<Terms>][]
).map(([part, name, verdict, change]) => ({
  stage: 'terms',
  name: `signed for ${name}`,
  parts: [`terms.${part}`],
  verdict,
  change: (terms) => ({ ...terms, ...change(terms) }),
}))

/** The payment within a document: the document itself, or a member of the body of the API. */
const paymentIn = (document: Document, { isApi }: Target): Document =>
  isApi ? (document['paymentPayload'] as Document) : document

/** Every form of every member. */
function inForms(paths: readonly string[], forms: readonly Form[], fits?: Fits): Mutation[] {
  return paths.flatMap((path) =>
    forms.map(({ name, verdict, write }) => ({
      stage: 'document' as const,
      name: `${path}: ${name}`,
      parts: [path],
      verdict,
      fits,
      change(document: Document, { target, other }: MutationContext) {
        const payment = paymentIn(document, target)
        const value = memberAt(payment, path) as string
        const another = (memberAt(other, path) ?? '') as string
        // Approvals of one second are the same.
        setMember(payment, path, write(value, another === value ? flipDigit(value) : another))
      },
    })),
  )
}

/** The address of another buyer in each place of one. */
const victims = (paths: readonly string[]): Mutation[] =>
  paths.map((path) => ({
    stage: 'document',
    ...{ name: `${path}: that of another buyer`, parts: [path], verdict: 'refused' },
    change: (document, { target, victim }) => setMember(paymentIn(document, target), path, victim),
  }))

type Values = readonly (readonly [name: string, verdict: Mutation['verdict'], value: unknown])[]

/** Other values of a member; `undefined` removes it. A function makes one of what is there. */
function withValues(path: string, values: Values, fits?: Fits): Mutation[] {
  return values.map(([name, verdict, value]) => ({
    stage: 'document',
    name: `${path}: ${name}`,
    parts: [path],
    verdict,
    fits,
    change(document, context) {
      const payment = paymentIn(document, context.target)
      const made =
        typeof value === 'function'
          ? (value as (before: unknown, context: MutationContext) => unknown)(
              memberAt(payment, path),
              context,
            )
          : value
      setMember(payment, path, made)
    },
  }))
}

const OFFER: readonly Mutation[] = [
  ...inForms(['accepted.amount'], UINT_FORMS),
  ...inForms(['accepted.payTo', 'accepted.asset'], ADDRESS_FORMS),
  ...withValues('accepted.network', [
    ['its short name', 'accepted', 'base-sepolia'],
    ['another chain', 'refused', 'eip155:8453'],
    ['the name of another chain', 'refused', 'base'],
    ['in upper case', 'refused', 'EIP155:84532'],
    ['a name in upper case', 'refused', 'Base-Sepolia'],
    ['a leading zero', 'refused', 'eip155:084532'],
    ['hexadecimal', 'refused', 'eip155:0x14a34'],
    ['an exponent', 'refused', 'eip155:84532e0'],
    ['a space after', 'refused', 'eip155:84532 '],
    ['a null character', 'refused', 'eip155:84532\0'],
    ['the same modulo 2^64', 'refused', `eip155:${2n ** 64n + 84_532n}`],
    ['Solana', 'refused', 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'],
    ['a number', 'refused', 84_532],
    ['a prototype’s key', 'refused', '__proto__'],
    ['a method', 'refused', 'constructor'],
    ['none', 'refused', undefined],
  ]),
  ...withValues('accepted.scheme', [
    ['in upper case', 'refused', 'EXACT'],
    ['a space after', 'refused', (scheme: unknown) => `${String(scheme)} `],
    ['one that is not there', 'refused', 'barter'],
    ['a prototype’s key', 'refused', '__proto__'],
    ['a method', 'refused', 'hasOwnProperty'],
    ['a list of it', 'refused', (scheme: unknown) => [scheme]],
    ['none', 'refused', undefined],
  ]),
  ...withValues('accepted.maxTimeoutSeconds', [
    ['longer', 'accepted', 86_400],
    ['one second', 'accepted', 1],
    ['zero', 'refused', 0],
    ['negative', 'refused', -300],
    ['a fraction', 'refused', 300.5],
    ['a text', 'refused', '300'],
    ['beyond every integer', 'refused', 1e300],
    ['none', 'refused', undefined],
  ]),
  ...withValues('accepted.protocolVersion', [
    ['another', 'accepted', 7],
    ['a text', 'refused', '2'],
  ]),
  ...withValues('accepted.memo', [['a stranger’s member', 'accepted', { a: [1] }]]),
  ...withValues('accepted', [
    ['none', 'refused', undefined],
    ['null', 'refused', null],
    ['a list of it', 'refused', (accepted: unknown) => [accepted]],
    ['a text', 'refused', (accepted: unknown) => JSON.stringify(accepted)],
    ['empty', 'refused', {}],
  ]),
]

const OFFER_ID: readonly Mutation[] = withValues('accepted.extra.offerId', [
  ['none', 'accepted', undefined],
  ['null', 'accepted', null],
  ['another', 'accepted', 'AAAAAAAAAAAAAAAAAAAAAA'],
  ['a number', 'accepted', 7],
  ['an object', 'accepted', { id: 1 }],
  ['empty', 'accepted', ''],
  ['very long', 'accepted', 'x'.repeat(4000)],
  ['a checkout’s', 'either', 'checkout.AAAAAAAAAAAAAAAAAAAAAA'],
  ['in Unicode', 'accepted', '\u202e☕\ud83d'],
  ['with a null character', 'either', 'a\0b'],
  ['SQL', 'accepted', "'; DROP TABLE payments; --"],
])

const quoted: Fits = ({ hasQuote }) => hasQuote
const QUOTE: readonly Mutation[] = withValues(
  'accepted.extra.quote',
  [
    ['none', 'accepted', undefined],
    ['a number', 'accepted', 3],
    ['an object', 'accepted', {}],
    ['empty', 'refused', ''],
    ['another last character', 'refused', (q: string) => swapAt(q, q.length - 3)],
    ['another first character', 'refused', (q: string) => swapAt(q, 0)],
    ['another one in the middle', 'refused', (q: string) => swapAt(q, q.length >> 1)],
    ['half of it', 'refused', (q: string) => q.slice(0, q.length >> 1)],
    ['twice', 'refused', (q: string) => q + q],
    ['in lower case', 'refused', (q: string) => q.toLowerCase()],
    ['in Unicode', 'refused', (q: string) => `${q}\u{1f511}`],
    ['very long', 'refused', 'x'.repeat(5000)],
  ],
  quoted,
)

const swapAt = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)

/** Routes compare it; the API leaves it to the shop. */
const comparedUrl: Mutation['verdict'] = ({ target }) => (target.isApi ? 'either' : 'refused')
const url =
  (change: (url: string) => unknown) =>
  (before: unknown): unknown =>
    change(String(before))
const RESOURCE: readonly Mutation[] = [
  ...withValues('resource', [
    ['none', 'accepted', undefined],
    ['null', 'accepted', null],
    ['an empty list, as PHP writes it', 'accepted', []],
    ['empty', 'accepted', {}],
    ['a text', 'refused', 'https://shop.example/report'],
    ['a list', 'refused', [1]],
  ]),
  ...withValues('resource.description', [
    ['another', 'accepted', '\u0000<script>alert(1)</script>'],
    ['a number', 'accepted', 5],
  ]),
  ...withValues('resource.url', [
    ['an upper-case host', 'accepted', url((text) => text.replace('shop', 'SHOP'))],
    ['its port', 'accepted', url((text) => text.replace('example', 'example:443'))],
    ['dots', 'accepted', url((text) => text.replace('example/', 'example/a/../'))],
    ['a tab', 'either', url((text) => text.replace('example/', 'example/\t'))],
    ['another path', comparedUrl, url((text) => text.replace('example/', 'example/x'))],
    ['another host', comparedUrl, url((text) => text.replace('shop', 'shops'))],
    ['a user', comparedUrl, url((text) => text.replace('://', '://me@'))],
    ['another query', comparedUrl, url((text) => `${text}${text.includes('?') ? '&' : '?'}free=1`)],
    ['a fragment', comparedUrl, url((text) => `${text}#x`)],
    ['without encryption', comparedUrl, url((text) => text.replace('https', 'http'))],
    ['an escape', 'either', url((text) => text.replace('/r', '/%72'))],
    ['a script', comparedUrl, 'javascript:alert(1)'],
    ['null', comparedUrl, null],
    ['a number', comparedUrl, 5],
    ['a list of it', comparedUrl, url((text) => [text])],
    ['very long', comparedUrl, `https://shop.example/${'x'.repeat(5000)}`],
    ['a null character', 'either', url((text) => `${text}\0`)],
  ]),
]

const id = (value: unknown) => ({ 'payment-identifier': { info: { id: value } } })
/** Without its extensions, a payment may not be worth anything. */
const unlessNeeded: Mutation['verdict'] = ({ kind }) =>
  kind.needsExtensions ? 'refused' : 'accepted'
const beside =
  (extensions: object | ((random: MutationContext['random']) => object)) =>
  (before: unknown, { random }: MutationContext): object => ({
    ...(before as object | undefined),
    ...(typeof extensions === 'function' ? extensions(random) : extensions),
  })
const EXTENSIONS: readonly Mutation[] = withValues('extensions', [
  ['none', unlessNeeded, undefined],
  ['null', unlessNeeded, null],
  ['empty', unlessNeeded, {}],
  ['an empty list, as PHP writes it', unlessNeeded, []],
  ['a list', 'refused', [1]],
  ['a text', 'refused', 'none'],
  ['one that nobody knows', 'accepted', beside({ 'x-unknown': { deep: [{}] } })],
  [
    'keys of prototypes',
    'either',
    beside({ constructor: { info: {} }, toString: 1, valueOf: null }),
  ],
  ['an id', 'accepted', beside((random) => id(freshId(random)))],
  ['an id without information', 'accepted', beside({ 'payment-identifier': {} })],
  ['an id as PHP writes it', 'accepted', beside({ 'payment-identifier': [] })],
  ['an id that is null', 'accepted', beside(id(null))],
  ['an id that is short', 'refused', beside(id('short'))],
  ['an id that is long', 'refused', beside(id('x'.repeat(129)))],
  ['an id with a line end', 'refused', beside(id('0123456789abcdef\n'))],
  ['an id in Unicode', 'refused', beside(id('０１２３４５６７８９ａｂｃｄｅｆ'))],
  ['an id that is a number', 'refused', beside(id(12_345_678))],
  ['an id that is a text alone', 'refused', beside({ 'payment-identifier': '0123456789abcdef' })],
  ['an echo that nobody offered', 'either', beside({ bazaar: { info: { input: 1 } } })],
])

const freshId = ({ next }: MutationContext['random']): string =>
  `generated-${Math.floor(next() * 2 ** 48)}-${Math.floor(next() * 2 ** 48)}`

const VERSION: readonly Mutation[] = [
  ...withValues('x402Version', [
    ['1', 'refused', 1],
    ['3', 'refused', 3],
    ['0', 'refused', 0],
    ['negative', 'refused', -2],
    ['a text', 'refused', '2'],
    ['a fraction', 'refused', 2.5],
    ['null', 'refused', null],
    ['true', 'refused', true],
    ['a list of it', 'refused', [2]],
    ['beyond every integer', 'refused', 1e300],
    ['none', 'refused', undefined],
  ]),
]

const payload = (change: (payload: Document) => unknown) => (before: unknown) =>
  change(before as Document)
const PAYLOAD: readonly Mutation[] = withValues('payload', [
  ['none', 'refused', undefined],
  ['null', 'refused', null],
  ['empty', 'refused', {}],
  ['a list of it', 'refused', payload((one) => [one])],
  ['a text', 'refused', payload((one) => JSON.stringify(one))],
  ['a level deeper', 'refused', payload((one) => ({ payload: one }))],
  ['as its prototype', 'refused', payload((one) => ownMember({}, '__proto__', one))],
  ['more members', 'accepted', payload((one) => ({ ...one, memo: 'x', valueOf: 1, toJSON: 'y' }))],
  [
    'the payment of another offer beside it',
    'accepted',
    (one: unknown, { other }: MutationContext) => ({ payload: other.payload, ...(one as object) }),
  ],
])

function ownMember(document: Document, name: string, value: unknown): Document {
  setMember(document, name, value)
  return document
}

/** Members with the names of what every object has. */
const PROTOTYPES: readonly Mutation[] = ['', 'accepted', 'accepted.extra', 'payload', 'resource']
  .flatMap((parent) =>
    ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', 'length'].map((name) =>
      parent === '' ? name : `${parent}.${name}`,
    ),
  )
  .flatMap((path) =>
    withValues(path, [
      ['an object', 'either', { amount: '1', isValid: true, x402Version: 1, url: 'https://a.b' }],
      ['null', 'either', null],
      ['a text', 'either', 'x'],
    ]),
  )

const ofApi: Fits = ({ isApi }) => isApi

/** Where a method is not said, it is ERC-3009. */
const ofUsual: Mutation['verdict'] = ({ kind }) =>
  kind.shape === 'eip3009' ? 'accepted' : 'refused'

/** Settled is what was charged, where the price is a maximum. */
const isCharged: Fits = ({ path }, { shape }) => shape === 'upto' && path.endsWith('/settle')
const isCharge =
  ({ name, verdict }: Form): Mutation['verdict'] =>
  ({ target, kind }) =>
    isCharged(target, kind) && /^one (more|less)$/.test(name) ? 'accepted' : verdict

/** What the shop asks for, as the API is told. */
const REQUIREMENTS: readonly Mutation[] = [
  ...UINT_FORMS.map((form) => requirement('amount', form, isCharge(form))),
  ...(
    [
      ['nothing', 'accepted', () => '0'],
      ['one unit', 'accepted', () => '1'],
      ['the maximum', 'accepted', (maximum) => String(maximum)],
      ['one more than the maximum', 'refused', (maximum) => String(maximum + 1n)],
      ['ten times the maximum', 'refused', (maximum) => String(maximum * 10n)],
    ] satisfies [string, Verdict, (maximum: bigint) => string][]
  ).map(([name, verdict, write]): Mutation => ({
    stage: 'document',
    ...{ name: `a charge of ${name}`, verdict, fits: isCharged },
    // Where the maximum is another one, the charge may be above it.
    parts: ['paymentRequirements.amount', 'accepted.amount'],
    change(document) {
      const maximum = BigInt(String(memberAt(document, 'paymentPayload.accepted.amount')))
      setMember(document, 'paymentRequirements.amount', write(maximum))
    },
  })),
  ...['payTo', 'asset'].flatMap((name) => ADDRESS_FORMS.map((form) => requirement(name, form))),
  ...(
    [
      ['scheme', 'another', 'refused', 'barter'],
      ['scheme', 'a prototype’s key', 'refused', '__proto__'],
      ['network', 'another', 'refused', 'eip155:8453'],
      ['network', 'its short name', 'accepted', 'base-sepolia'],
      ['network', 'a method', 'refused', 'valueOf'],
      ['maxTimeoutSeconds', 'negative', 'refused', -1],
      ['maxTimeoutSeconds', 'longer', 'accepted', 1e6],
      ['extra', 'an empty list', ofUsual, []],
      ['extra', 'null', ofUsual, null],
    ] as const
  ).map(([name, what, verdict, value]) =>
    requirement(name, { name: what, verdict: 'either', write: () => value }, verdict),
  ),
]

function requirement(
  member: string,
  { name, verdict, write }: Form,
  becomes: Mutation['verdict'] = verdict,
): Mutation {
  const path = `paymentRequirements.${member}`
  return {
    stage: 'document',
    name: `${path}: ${name}`,
    parts: [path],
    verdict: becomes,
    fits: ofApi,
    change: (document) =>
      setMember(document, path, write(memberAt(document, path) as string, STRANGER)),
  }
}

const otherMethod = (method: unknown): string =>
  (method ?? 'eip3009') === 'eip3009' ? 'permit2' : 'eip3009'
const otherScheme = (scheme: unknown): string => (scheme === 'exact' ? 'upto' : 'exact')
const METHOD = 'extra.assetTransferMethod'

/** In the payment and in what the shop asks for. */
const inBoth = (member: string, change: (before: unknown) => unknown): Mutation => ({
  stage: 'document',
  ...{
    name: `${member}: the other one in both`,
    verdict: 'refused',
    fits: ofApi,
  },
  parts: [`accepted.${member}`, `paymentRequirements.${member}`],
  change(document) {
    for (const parent of ['paymentPayload.accepted', 'paymentRequirements']) {
      const path = `${parent}.${member}`
      setMember(document, path, change(memberAt(document, path)))
    }
  },
})

/** One kind of payment in the place of another. */
const SWAPPED: readonly Mutation[] = [
  ...withValues(`accepted.${METHOD}`, [
    ['the other one', 'refused', otherMethod],
    ['none', ofUsual, undefined],
    [
      'in upper case',
      'refused',
      (method: unknown) => (typeof method === 'string' ? method : 'eip3009').toUpperCase(),
    ],
    ['one that is not there', 'refused', 'erc7710'],
    ['a prototype’s key', 'refused', '__proto__'],
    ['a number', ofUsual, 7],
    ['a list of it', ofUsual, (method: unknown) => [method]],
  ]),
  ...withValues('accepted.scheme', [['the other one', 'refused', otherScheme]]),
  ...withValues('accepted.extra.facilitatorAddress', [
    ['none', 'accepted', undefined],
    ['a stranger', 'accepted', STRANGER],
    ['a number', 'accepted', 5],
  ]),
  inBoth('scheme', otherScheme),
  inBoth(METHOD, otherMethod),
  ...(['eip3009', 'permit2', 'upto'] as const).map((shape): Mutation => ({
    stage: 'document',
    ...{ name: `payload: that of ${shape}`, parts: ['payload'] },
    verdict: 'refused',
    fits: (_target, kind) => kind.shape !== shape,
    change: (document, { target, foreign }) =>
      setMember(paymentIn(document, target), 'payload', foreign[shape]?.payload),
  })),
  {
    stage: 'document',
    ...{ name: 'payload: another one beside it', parts: ['payload'] },
    verdict: 'either',
    change(document, { target, foreign }) {
      const payment = paymentIn(document, target)
      const others = Object.values(foreign).map((one) => one.payload)
      setMember(payment, 'payload', Object.assign({}, ...others, payment['payload']))
    },
  },
  ...[false, true].map((isEverywhere): Mutation => ({
    stage: 'document',
    ...{ verdict: 'refused' },
    name: `accepted: another offer${isEverywhere ? ' in both' : ''}`,
    parts: ['accepted', ...(isEverywhere ? ['paymentRequirements'] : [])],
    fits: isEverywhere ? ofApi : undefined,
    change(document, { kind, target, random, accepts }) {
      const another = random.pick(accepts.filter((entry) => !kind.takes(entry)))
      setMember(paymentIn(document, target), 'accepted', another)
      if (isEverywhere) setMember(document, 'paymentRequirements', another)
    },
  })),
]

/** A single member, or the place, of a payment that stays as it was signed. */
const SINGLE =
  /: (?:another digit|one more|(?:that|those) of another (?:buyer|payment))$|offerId|resource\.url|\bid\b|^path:|token of another project/

/** What can be changed of a payment that was verified or has paid before. */
export const twinsOf = (kind: Kind): readonly Mutation[] =>
  mutationsOf(kind)
    .flat()
    .filter(({ stage, name }) => stage !== 'terms' && SINGLE.test(name))

/** Every mutation of a kind of payment, in groups. */
export function mutationsOf({
  parts,
  signatureForms = SIGNATURE_FORMS,
  mutations = [],
}: Kind): readonly (readonly Mutation[])[] {
  return [
    TERMS,
    inForms(parts.uints, UINT_FORMS),
    inForms(parts.addresses, ADDRESS_FORMS),
    victims(parts.addresses),
    inForms(parts.words, WORD_FORMS),
    inForms(parts.numbers ?? [], NUMBER_FORMS),
    // Half of what is tried with signatures is left to them.
    inForms(parts.signatures, signatureForms),
    inForms(parts.signatures, signatureForms),
    [...OFFER],
    OFFER_ID,
    QUOTE,
    RESOURCE,
    EXTENSIONS,
    VERSION,
    PAYLOAD,
    PROTOTYPES,
    REQUIREMENTS,
    SWAPPED,
    TEXTS,
    REQUESTS,
    mutations,
  ].filter((group) => group.length > 0)
}
