import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runCli } from '../../../src/tools/cli/cli.js'
import { publicKeyOf, addressOfKey } from '../../../src/shared/crypto/address-of-key.js'
import { ReceiptIssuer } from '../../../src/shared/crypto/offer-receipt.js'
import { encodeHeader } from '../../../src/shared/protocol/headers.js'
import { temporaryFolder, useCleanup } from '../../support/cleanup.js'
import { listen, type TestServer } from '../../support/http.js'

const KEY = `0x${'7e'.repeat(32)}` as const
const NOW = Date.parse('2026-11-30T12:00:00.000Z')
const payer = `0x${'8'.repeat(40)}`
const SETTLED = { success: true, transaction: '0x', network: 'base', payer } as const

const issuerWith = (privateKey: typeof KEY) =>
  new ReceiptIssuer({ privateKey, publicKey: publicKeyOf(privateKey) }, () => NOW)
const settlementFor = (resource: string, issuer = issuerWith(KEY)) => ({
  ...SETTLED,
  extensions: issuer.signReceipt(resource, SETTLED) as Record<
    string,
    { info: { receipt: Signed } }
  >,
})
interface Signed {
  readonly payload: object
  readonly signature: string
}
const receiptFor = (resource: string): Signed =>
  settlementFor(resource).extensions['offer-receipt']!.info.receipt

const cwd = temporaryFolder(useCleanup(afterAll))
let site: TestServer
let asked: (string | undefined)[] = []
/** What the site answers when it is asked for its DID document. */
let respond: () => { status: number; body: string; location?: string }
beforeAll(async () => {
  site = await listen((req, res) => {
    asked.push(req.url)
    const { status, body, location } = respond()
    res.writeHead(status, location === undefined ? {} : { location }).end(body)
  })
  respond = () => ({ status: 200, body: JSON.stringify(issuerWith(KEY).didDocument(site.url)) })
})
afterAll(() => site.close())

async function verify(...args: string[]) {
  const [printed, complained]: string[][] = [[], []]
  asked = []
  const code = await runCli(['verify-receipt', ...args], {
    env: {},
    cwd,
    signal: new AbortController().signal,
    print: (line) => void printed!.push(line),
    complain: (line) => void complained!.push(line),
    write: async () => undefined,
  })
  return { code, said: printed!.join('\n'), wrong: complained!.join('\n') }
}

describe('verify-receipt', () => {
  it('says who signed a receipt, for what and when, and that the site names the signer', async () => {
    const resource = `${site.url}/report?of=7`
    const { code, said } = await verify(encodeHeader(settlementFor(resource)))
    expect(said.split('\n')).toStrictEqual([
      `Signer    ${addressOfKey(KEY)}`,
      `Resource  ${resource}`,
      `Payer     ${payer} on eip155:8453`,
      'Issued    2026-11-30T12:00:00.000Z',
      `Valid: ${new URL(site.url).host} names this signer.`,
    ])
    expect(asked).toStrictEqual(['/.well-known/did.json'])
    expect(code).toBe(0)
  })

  it('names the site that it has asked, where the resource looks like one of another site', async () => {
    const { host } = new URL(site.url)
    for (const resource of [`http://shop.example@${host}/`, `http://${host}\\@shop.example/`]) {
      const { said } = await verify(encodeHeader(settlementFor(resource)))
      expect(said).toContain(`Valid: ${host} names this signer.`)
    }
  })

  it('takes a header with its name, JSON, a receipt alone, and files of all of them', async () => {
    const settlement = settlementFor(`${site.url}/`)
    const header = encodeHeader(settlement)
    const forms = [
      `PAYMENT-RESPONSE: ${header}`,
      JSON.stringify(settlement),
      JSON.stringify(receiptFor(`${site.url}/`), undefined, 2),
    ]
    for (const [index, form] of forms.entries()) {
      expect((await verify(form)).code).toBe(0)
      await writeFile(join(cwd, `receipt-${index}`), `${form}\n`)
      expect((await verify(`receipt-${index}`)).code).toBe(0)
    }
  })

  it.each([
    ['the resource', { resourceUrl: 'other' }],
    ['the payer', { payer: `0x${'9'.repeat(40)}` }],
    ['the time', { issuedAt: NOW / 1000 - 1 }],
    ['the network', { network: 'eip155:1' }],
    ['the transaction', { transaction: `0x${'7'.repeat(64)}` }],
  ])('refuses a receipt in which %s was changed', async (_what, change) => {
    const receipt = receiptFor(`${site.url}/report`)
    const resourceUrl = `${site.url}/${'resourceUrl' in change ? change.resourceUrl : 'report'}`
    const payload = { ...receipt.payload, ...change, resourceUrl }
    const { code, wrong } = await verify(JSON.stringify({ ...receipt, payload }))
    expect([code, wrong]).toStrictEqual([1, expect.stringContaining('does not name this signer')])
  })

  it('refuses one by a key of somebody else', async () => {
    const forged = settlementFor(`${site.url}/`, issuerWith(`0x${'7d'.repeat(32)}`))
    const { code, wrong } = await verify(encodeHeader(forged))
    expect([code, wrong]).toStrictEqual([1, expect.stringContaining('does not name this signer')])
  })

  it.each([
    ['nothing', '', 'it is empty'],
    [
      'a file that is not there',
      'no-such-file.json',
      'is no file, no JSON and no PAYMENT-RESPONSE',
    ],
    ['JSON that was cut', '{"success":', 'This JSON cannot be read'],
    ['an answer without a receipt', encodeHeader(SETTLED), 'has no signed receipt'],
    ['another document', '[]', 'is no file'],
    [
      'another format',
      JSON.stringify({ format: 'jws', signature: 'e30.e30.e30' }),
      "format must be 'eip712'",
    ],
    [
      'a short signature',
      JSON.stringify({ ...receiptFor('x:y'), signature: '0x12' }),
      'signature must be 0x and 130',
    ],
    [
      'a signature of zeros',
      JSON.stringify({ ...receiptFor('x:y'), signature: `0x${'0'.repeat(130)}` }),
      'no key can have made this signature',
    ],
    ['a tool', encodeHeader(settlementFor('mcp://tool/time')), 'the resource is not on the web'],
    ['a private site', encodeHeader(settlementFor('https://10.0.0.7/x')), 'is not an https site'],
    [
      'a site on http',
      encodeHeader(settlementFor('http://shop.example/x')),
      'is not an https site',
    ],
  ])('says what is wrong with %s', async (_what, given, words) => {
    const { code, wrong } = await verify(given)
    expect([code, wrong]).toStrictEqual([1, expect.stringContaining(words)])
    expect(asked).toStrictEqual([])
  })

  it('does not take another answer for a DID document, and follows no redirect', async () => {
    const { respond: usual } = { respond }
    const did = issuerWith(KEY).didDocument('https://other.example')
    const answers = [
      { status: 404, body: 'not found' },
      { status: 200, body: JSON.stringify(did) },
      { status: 302, body: '', location: `${site.url}/elsewhere` },
      { status: 200, body: `{"id":"${'x'.repeat(300_000)}"}` },
    ]
    for (const answer of answers) {
      respond = () => answer
      const { code, wrong } = await verify(encodeHeader(settlementFor(`${site.url}/`)))
      expect([code, wrong]).toStrictEqual([
        1,
        expect.stringContaining('its DID document is not at'),
      ])
      expect(asked).toStrictEqual(['/.well-known/did.json'])
    }
    respond = usual
  })

  it('is misused without a receipt, and with two', async () => {
    expect((await verify()).code).toBe(2)
    expect((await verify('one', 'two')).code).toBe(2)
  })
})
