import { describe, expect, it } from '@jest/globals'
import { recoverTypedDataAddress, type Hex, type TypedDataDefinition } from 'viem'
import {
  EXPOSED_HEADERS,
  IDEMPOTENCY_KEY,
  PROJECT_TOKEN,
} from '../../../../src/shared/protocol/headers.js'
import { findKnownAsset } from '../../../../src/shared/money/assets.js'
import { findNetwork } from '../../../../src/shared/protocol/networks.js'
import { parseErc3009Payload } from '../../../../src/shared/protocol/erc3009.js'
import { parsePaymentSubmission } from '../../../../src/shared/protocol/payment.js'
import { reasons } from '../../../../src/shared/protocol/reasons.js'
import { HANDLER_VERSION, type Handler } from '../../../../src/api/checkouts/ucp/handler.js'
import {
  handlerSchema,
  instrumentSchema,
  renderSpecification,
} from '../../../../src/api/checkouts/ucp/render.js'
import { serveGateway } from '../../api.js'
import { SHOP_TOKEN } from '../../../support/devnet.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from './ucp-schemas.js'
import { useOpened } from '../../../support/use-opened.js'

const HANDLER: Handler = {
  id: 'com.example.pay',
  docsUrl: 'https://example.com',
  networkNames: 'caip2',
}

const text = renderSpecification(HANDLER)

/** A JSON schema, as far as the tables tell of it. */
interface JsonSchema {
  readonly type?: string
  readonly description?: string
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly $ref?: string
}

type Definitions = Readonly<Record<string, JsonSchema>>

const definitionsOf = (handler: Handler) => (handlerSchema(handler) as { $defs: Definitions }).$defs

/** What stands under a heading. */
function chapterOf(document: string, heading: string): string {
  const chapters = document.split(/^(?=#+ )/m)
  return chapters.find((chapter) => chapter.split('\n', 1)[0]!.endsWith(`# ${heading}`)) ?? ''
}

/** The cells of the only table in a chapter, its head left out. */
function tableRows(chapter: string): readonly (readonly string[])[] {
  const [, , ...rows] = chapter.split('\n').filter((line) => line.startsWith('|'))
  return rows.map((row) => row.split('|').slice(1, -1)).map((row) => row.map((cell) => cell.trim()))
}

/** A row for each member of a schema, those of inner objects included. */
function fieldRows(
  { properties = {}, required = [] }: JsonSchema,
  definitions: Definitions,
  prefix = '',
): readonly (readonly unknown[])[] {
  const resolve = ({ $ref, ...own }: JsonSchema): JsonSchema => ({
    ...($ref !== undefined && definitions[$ref.replace('#/$defs/', '')]),
    ...own,
  })
  return Object.entries(properties).flatMap(([name, property]) => {
    const field = resolve(property)
    const type = field.type ?? `\`${JSON.stringify(field.const)}\``
    const path = `${prefix}${name}`
    return [
      [`\`${path}\``, type, required.includes(name) ? 'Yes' : 'No', field.description],
      ...(field.items
        ? fieldRows(resolve(field.items), definitions, `${path}[].`)
        : fieldRows(field, definitions, `${path}.`)),
    ]
  })
}

/** A block of JSON, and the heading that it stands under. */
interface Block {
  readonly heading: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly document: any
}

const blocks: readonly Block[] = text.split(/^(?=#+ )/m).flatMap((chapter) =>
  [...chapter.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, json]) => ({
    heading: /^#+ (.*)$/m.exec(chapter)?.[1] ?? '',
    document: JSON.parse(json ?? ''),
  })),
)

/** The blocks under a heading, of which there must be so many. */
function blocksUnder(heading: string, count = 1): readonly Block['document'][] {
  const found = blocks.filter((block) => block.heading === heading)
  expect(found).toHaveLength(count)
  return found.map(({ document }) => document)
}

describe('the specification', () => {
  it('has every heading of UCP’s template, in its order', () => {
    const headings = [...text.matchAll(/^#+ .*$/gm)].map(([line]) => line)
    expect(headings).toEqual([
      '# x402 Payment Handler',
      '## Introduction',
      '### Key Benefits',
      '### Integration Guide',
      '## Participants',
      '## Business Integration',
      '### Prerequisites',
      '### Handler Configuration',
      '#### Handler Schema',
      '#### Business Config Fields',
      '#### Response Config Fields',
      '#### Example Handler Declaration',
      '### Processing Payments',
      '## Platform Integration',
      '### Prerequisites',
      '### Handler Configuration',
      '#### Platform Config Fields',
      '#### Example Platform Handler Declaration',
      '### Payment Protocol',
      '#### Step 1: Discover Handler',
      '#### Step 2: Create the Checkout',
      '#### Step 3: Choose a Way to Pay',
      '#### Step 4: Have the Payment Signed',
      '#### Step 5: Build the Payment',
      '#### Step 6: Complete Checkout',
      '## Gateway and Wallet Integration',
      '### Prerequisites',
      '### Gateway',
      '### Wallet',
      '## Error Mapping',
      '### Not Known Yet',
      '### Look It Up',
      '### Sign Again',
      '### Pay Otherwise',
      '### Mend the Integration',
      '### Errors of HTTP',
      '### The Checkout of a Refused Payment',
      '## Security Considerations',
      '## References',
      '## Changelog',
    ])
  })

  it('links only to headings that exist', () => {
    const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(' ', '-')
        .replaceAll(/[^\w-]/g, ''),
    )
    const links = [...text.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor)
    expect(links.length).toBeGreaterThan(5)
    expect(anchors).toEqual(expect.arrayContaining(links))
  })

  it('names handler, version, headers and addresses as the code does', () => {
    for (const name of [HANDLER.id, HANDLER_VERSION, PROJECT_TOKEN, IDEMPOTENCY_KEY])
      expect(text).toContain(`\`${name}\``)
    for (const document of ['gateway.md', 'schema.json', 'instrument_schema.json'])
      for (const folder of ['ucp', `ucp/${HANDLER_VERSION}`])
        expect(text).toContain(`<https://example.com/${folder}/${document}>`)
    expect(text).not.toContain('xyz.vendor')
    // What pays for an HTTP request has no part in a checkout.
    for (const header of EXPOSED_HEADERS) expect(text).not.toContain(header)
  })

  it('is written in lines that can be read without rendering', () => {
    const lines = text.split('\n').filter((line) => !/^\||"signature"|https:/.test(line))
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(110)
    expect(text).not.toMatch(/\n\n\n| \n|undefined|\[object/)
  })

  it('maps every reason once, and no other', () => {
    const chapter = text.slice(text.indexOf('## Error Mapping'), text.indexOf('### Errors of HTTP'))
    const mapped = [...chapter.matchAll(/^\| `(\w+)` +\| \S/gm)].map(([, reason]) => reason)
    expect(new Set(mapped)).toEqual(new Set(reasons))
    expect(mapped).toHaveLength(reasons.length)
  })

  it('distinguishes a payment that is pending from one that failed', () => {
    const group = text.slice(text.indexOf('### Not Known Yet'), text.indexOf('### Look It Up'))
    expect(group).toContain('`settlement_pending`')
    expect(group).not.toContain('payment_failed')
  })

  it('states what a signature binds and what it does not', () => {
    const chapter = text.slice(text.indexOf('## Security Considerations'))
    expect(chapter).toContain('payer, payee, value, time window and nonce')
    expect(chapter).toContain('**It does not bind the\ncheckout:**')
  })

  it.each(['caip2', 'short'] as const)(
    'lists the fields of the config as its schema has them, with %s network names',
    (networkNames) => {
      const handler = { ...HANDLER, networkNames }
      const $defs = definitionsOf(handler)
      const chapter = chapterOf(renderSpecification(handler), 'Response Config Fields')
      expect(tableRows(chapter)).toEqual(fieldRows($defs['response_config']!, $defs))
    },
  )

  it('describes the variants of the config as the schema does', () => {
    const rows = tableRows(chapterOf(text, 'Handler Schema'))
    expect(rows.map(([variant, , purpose]) => [variant, purpose])).toEqual(
      Object.entries(definitionsOf(HANDLER))
        .filter(([name]) => name.endsWith('_config'))
        .map(([name, { description }]) => [`\`${name}\``, description]),
    )
  })

  it('begins its changelog with the current version', () => {
    const [newest] = tableRows(chapterOf(text, 'Changelog'))
    expect(newest?.[0]).toBe(`\`${HANDLER_VERSION}\``)
  })
})

describe.each(UCP_VERSIONS)('the JSON of the specification, by UCP %s', (version) => {
  const ucp = ucpValidators(version)
  const schema = handlerSchema(HANDLER)
  const ours = (name: string) => ucp.compose(schema, `/$defs/${HANDLER.id}/${name}`)
  const entryOf = (handlers: Record<string, readonly unknown[]>) => handlers[HANDLER.id]?.[0]

  it('shows business profiles', () => {
    for (const heading of ['Example Handler Declaration', 'Step 1: Discover Handler']) {
      const [profile] = blocksUnder(heading)
      expect(errorsOf(ucp.businessProfile, profile)).toEqual([])
      expect(errorsOf(ours('business_schema'), entryOf(profile.ucp.payment_handlers))).toEqual([])
    }
  })

  it('shows a platform profile', () => {
    const [profile] = blocksUnder('Example Platform Handler Declaration')
    expect(errorsOf(ucp.platformProfile, profile)).toEqual([])
    expect(errorsOf(ours('platform_schema'), entryOf(profile.ucp.payment_handlers))).toEqual([])
  })

  it('shows checkouts: ready, completed, and with a refused payment', () => {
    const checkouts = [
      blocksUnder('Processing Payments', 6)[2],
      ...blocksUnder('Step 2: Create the Checkout'),
      blocksUnder('Step 6: Complete Checkout', 2)[1],
      ...blocksUnder('The Checkout of a Refused Payment'),
    ]
    for (const checkout of checkouts) {
      expect(errorsOf(ucp.checkout, checkout)).toEqual([])
      expect(errorsOf(ours('response_schema'), entryOf(checkout.ucp.payment_handlers))).toEqual([])
    }
    expect(checkouts.map(({ status }) => status)).toEqual([
      'ready_for_complete',
      'ready_for_complete',
      'completed',
      'ready_for_complete',
    ])
    expect(checkouts[3].messages[0]).toMatchObject({ type: 'error', code: 'payment_failed' })
  })

  it('shows the payment_handlers block of a checkout', () => {
    const [, block] = blocksUnder('Processing Payments', 6)
    expect(errorsOf(ours('response_schema'), entryOf(block))).toEqual([])
  })

  it('shows an offer and a payment', () => {
    const definition = (name: string) => ucp.compose(schema, `/$defs/${name}`)
    const [offer] = blocksUnder('Step 3: Choose a Way to Pay')
    const [payment] = blocksUnder('Step 5: Build the Payment')
    expect(errorsOf(definition('payment_requirement'), offer)).toEqual([])
    expect(errorsOf(definition('payment_payload'), payment)).toEqual([])
  })

  it('shows an instrument that completes the checkout', () => {
    const [completion, checkout] = blocksUnder('Step 6: Complete Checkout', 2)
    const [instrument] = completion.payment.instruments
    expect(errorsOf(ours('payment_instrument'), instrument)).toEqual([])
    expect(errorsOf(ucp.compose(instrumentSchema(HANDLER)), instrument)).toEqual([])
    expect(errorsOf(ucp.checkout, { ...checkout, ...completion })).toEqual([])
  })

  it('shows no other JSON', () => {
    expect(blocks).toHaveLength(1 + 6 + 1 + 1 + 1 + 1 + 1 + 1 + 2 + 1)
  })
})

describe('the specification of a gateway that writes short names', () => {
  it('writes short names, and shows an instrument that its own schema accepts', () => {
    const handler = { ...HANDLER, networkNames: 'short' as const }
    const short = renderSpecification(handler)
    expect(short).toContain('"network": "base"')
    expect(short).not.toContain('"network": "eip155')
    const { instrument } = ucpValidators('2026-04-08')
    const ours = ucpValidators('2026-04-08').compose(instrumentSchema(handler))
    const [completion] = [...short.matchAll(/^```json\n({\n {2}"payment"[\s\S]*?)^```$/gm)]
    const [paid] = JSON.parse(completion?.[1] ?? '').payment.instruments
    for (const validate of [instrument, ours]) expect(errorsOf(validate, paid)).toEqual([])
  })
})

describe('the purchase in the specification', () => {
  const api = useOpened(() => {
    const [offer] = blocks
      .filter(({ heading }) => heading.startsWith('Step 3'))
      .map(({ document }) => document)
    return serveGateway({
      handlerId: HANDLER.id,
      networks: {
        base: { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
      },
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: offer.payTo } }],
      now: () => 1_795_262_500_000,
    })
  })

  it('is quoted as it states', async () => {
    const [request, answer] = blocksUnder('Processing Payments', 6)
    const quoted = await api.post('/api/v2/merchant/checkout-prepare', request)
    const { config } = quoted.body[HANDLER.id][0]
    expect(Object.keys(config.extensions)).toEqual(['payment-identifier'])
    delete config.extensions
    const [entry] = config.accepts
    // “Whatever else came with the offer”: made with a secret of the gateway's own.
    const { offerId, ...extra } = entry.extra
    expect(offerId).toMatch(/^checkout\.[\w-]{22}$/)
    entry.extra = extra
    expect([quoted.status, quoted.body]).toEqual([200, answer])
  })

  it('is consistent at every step', () => {
    const [, , checkout, submission] = blocksUnder('Processing Payments', 6)
    const [offer] = blocksUnder('Step 3: Choose a Way to Pay')
    const [typedData] = blocksUnder('Step 4: Have the Payment Signed')
    const [payment] = blocksUnder('Step 5: Build the Payment')
    const [completion] = blocksUnder('Step 6: Complete Checkout', 2)
    const { config } = checkout.ucp.payment_handlers[HANDLER.id][0]
    expect(config.accepts).toContainEqual(offer)
    expect(payment).toMatchObject({ accepted: offer, resource: config.resource })
    expect(payment.payload.authorization).toEqual(typedData.message)
    expect(submission).toMatchObject({ paymentPayload: payment, paymentRequirements: offer })
    const { type: _type, ...parts } = completion.payment.instruments[0].credential
    expect(parts).toEqual(submission)
  })

  it('is signed by its payer, under the domain of the token', async () => {
    const [typedData] = blocksUnder('Step 4: Have the Payment Signed')
    const [{ payload, accepted }] = blocksUnder('Step 5: Build the Payment')
    const usdc = findKnownAsset(findNetwork(accepted.network)!, 'USDC')
    expect(accepted).toMatchObject({ asset: usdc?.address, extra: { ...usdc?.eip712 } })
    expect(typedData.domain).toEqual({
      ...usdc?.eip712,
      chainId: usdc?.network.chainId,
      verifyingContract: usdc?.address,
    })
    const signer = await recoverTypedDataAddress({
      ...(typedData as TypedDataDefinition),
      signature: payload.signature as Hex,
    })
    expect(signer).toBe(payload.authorization.from)
  })

  it('is a payment that the gateway can read and verify up to its chain', async () => {
    const submission = blocksUnder('Processing Payments', 6)[3]
    expect(parsePaymentSubmission(submission)).toMatchObject({ ok: true })
    expect(parseErc3009Payload(submission.paymentPayload.payload)).toMatchObject({ ok: true })
    const verified = await api.post('/api/v2/payment/verify', submission)
    expect([verified.status, verified.body.code]).toEqual([502, 'chain_unreachable'])
  })

  it('is answered as settle answers', () => {
    const [, , , , settled, refused] = blocksUnder('Processing Payments', 6)
    const [{ payload, accepted }] = blocksUnder('Step 5: Build the Payment')
    const about = { payer: payload.authorization.from, network: accepted.network }
    expect(settled).toEqual({
      ...about,
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(refused).toEqual({
      ...about,
      success: false,
      errorReason: 'insufficient_funds',
      transaction: '',
    })
    expect(reasons).toContain(refused.errorReason)
  })
})
