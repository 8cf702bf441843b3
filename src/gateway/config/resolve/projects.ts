import { z } from 'zod'
import { NEVER_FACTORIES } from '../../../core/chain/account-factories.js'
import { findAcceptedAsset } from '../../../core/merchants/project.js'
import { addressOfPublicKey } from '../../../shared/crypto/address-of-key.js'
import { MIN_TOKEN_LENGTH, parseConfiguredToken } from '../../../shared/crypto/identify-token.js'
import type { Merchant, Project, ReadMerchant } from '../../../core/merchants/project.js'
import type { Asset } from '../../../shared/money/assets.js'
import { brandingSchema } from '../../../sell/paywall/options.js'
import { compare, parseDecimal } from '../../../shared/money/decimal.js'
import { isPublicUrl } from '../../../shared/http/http-url.js'
import type { DocumentError } from '../../../shared/protocol/document.js'
import { suggestName } from '../../../shared/protocol/did-you-mean.js'
import { sameHex } from '../../../shared/protocol/hex.js'
import { sameNetwork, type Network } from '../../../shared/protocol/networks.js'
import { isName, NOT_A_NAME, quoteName } from '../../../shared/protocol/visible-text.js'
import { addressOf, currency, mistake, omitUndefined, type FieldsOf } from './fields.js'
import type { ResolvedNetwork } from './networks.js'
import type { GatewayOptions } from '../options.js'
import type { MerchantOptions, ProjectOptions } from '../options/merchant.js'
import { isObject } from '../../../shared/protocol/document.js'
import { readOption, within, type Report } from './report.js'

const DEFAULT_MAX_TIMEOUT_SECONDS = 300

/** What is wrong with a token that {@link parseConfiguredToken} does not read. */
export const TOKEN_FORMS = `must be 'sha256:' and 64 hexadecimal digits, or a token of at least ${MIN_TOKEN_LENGTH} characters; make one with \`npx express-x402-gateway token\``

/** What is wrong with a `payTo` at Multicall3, Permit2 or an executor. */
const PAYS_ANYBODY =
  'is a contract that makes calls for others: anybody can take what is sent there, or nobody; write an address of your own'

const SIGNS_RECEIPTS =
  'is the account of receipts.privateKey, which lies on this server: give `receipts` a key of its own'

/** An amount of money greater than zero. */
const limit = z.string().transform((text, context) => {
  const amount = parseDecimal(text)
  if (amount !== undefined && amount.units > 0n) return amount
  context.addIssue({
    code: 'custom',
    message: "must be a decimal string greater than zero, e.g. '0.50'",
    params: { code: 'invalid_value' },
  })
  return z.NEVER
})

const origin = z
  .string()
  .refine(
    (text) => isPublicUrl(text) && new URL(text).origin === text,
    mistake('invalid_value', "must be an origin, e.g. 'https://shop.example'"),
  )

const merchantSchema = z.strictObject({
  name: z
    .string()
    .refine(isName, { message: NOT_A_NAME, params: { code: 'invalid_value' } })
    .optional(),
  payTo: addressOf('the address that is paid'),
  currency: currency.default('USD'),
  accepts: z
    .array(z.strictObject({ network: z.string(), asset: z.string() }))
    .min(1)
    .optional(),
  crossCurrency: z.boolean().default(false),
  fxBufferBps: z.int().min(0).max(10_000).default(0),
  minAmount: limit.optional(),
  maxAmount: limit.optional(),
  maxTimeoutSeconds: z.int().min(10).max(86_400).default(DEFAULT_MAX_TIMEOUT_SECONDS),
  redeemWithoutProof: z.enum(['never', 'same-address']).default('same-address'),
  branding: brandingSchema.optional(),
  listed: z.union([z.boolean(), z.array(origin).max(100)]).default(true),
  v1: z.boolean().optional(),
} satisfies FieldsOf<MerchantOptions>)

/** The merchant is checked apart, so that its mistakes are reported beside those of its project. */
const projectSchema = z.strictObject({
  id: z.string().min(1, 'must not be empty'),
  tokens: z.array(z.string()).default([]),
  merchant: z.unknown().optional(),
  paused: z.boolean().default(false),
  gasBudget: z.int().min(0).optional(),
})

export function resolveProjects(
  options: Omit<GatewayOptions, 'receipts'> & MerchantDefaults,
  networks: readonly ResolvedNetwork[],
  report: Report,
): readonly Project[] {
  if (!Array.isArray(options.projects)) return []
  const configured = Object.keys(options.networks ?? {})
  const takenIds = new Set<string>()
  const takenHashes = new Set<string>()
  return options.projects.flatMap((given: ProjectOptions, index) => {
    const reportHere = within(report, `projects.${index}`)
    const project = readOption(projectSchema, given, reportHere)
    if (project === undefined) return []
    const { id, tokens, merchant, paused, gasBudget } = project
    if (takenIds.has(id))
      reportHere('id', 'duplicate_project', `'${id}' is taken by another project`)
    takenIds.add(id)
    const tokenHashes = tokens.flatMap((token, position) =>
      hashOf(token, { taken: takenHashes, report: within(reportHere, `tokens.${position}`) }),
    )
    const own = { id, tokenHashes, gasBudget }
    if (merchant === undefined) return [own]
    const reportThere = within(reportHere, 'merchant')
    const context = { project: id, configured, networks, defaults: options, report: reportThere }
    const settings = isObject(merchant) ? omitUndefined(merchant) : {}
    const resolved = resolveMerchant(merchant, context)
    if (!paused || resolved === undefined) return [{ ...own, merchant: resolved, settings }]
    return [{ ...own, merchant: { ...resolved, paused }, settings, pausedBy: 'operator' }]
  })
}

/** Makes the reader of merchants that are configured at run time. They follow the rules of the options. */
export function merchantReader(
  networks: readonly ResolvedNetwork[],
  defaults: MerchantDefaults = {},
): ReadMerchant {
  const configured = networks.map(({ network }) => network.caip2)
  return (settings, project) => {
    const errors: DocumentError[] = []
    const report: Report = (path, _code, message) => void errors.push({ path, message })
    const context = { project, configured, networks, defaults, report }
    const merchant = resolveMerchant(settings, context)
    return merchant !== undefined && errors.length === 0
      ? { ok: true, value: merchant }
      : { ok: false, errors }
  }
}

/** The hash of an identify token; empty if it is unusable. */
function hashOf(
  token: string,
  { taken, report }: { readonly taken: Set<string>; readonly report: Report },
): readonly Buffer[] {
  const hash = parseConfiguredToken(token)
  if (hash === undefined) {
    report('', 'invalid_token', TOKEN_FORMS)
    return []
  }
  const key = hash.toString('hex')
  if (taken.has(key)) report('', 'duplicate_token', 'is there already')
  taken.add(key)
  return [hash]
}

export interface MerchantDefaults extends Pick<GatewayOptions, 'v1'> {
  /** The key that signs receipts. @defaultValue nothing does */
  readonly receipts?: { readonly publicKey: Uint8Array } | undefined
}

interface MerchantContext {
  readonly project: string
  /** The names of networks as the options write them, wrong ones included. */
  readonly configured: readonly string[]
  readonly networks: readonly ResolvedNetwork[]
  readonly defaults: MerchantDefaults
  readonly report: Report
}

function resolveMerchant(given: unknown, context: MerchantContext): Merchant | undefined {
  const { project, configured, networks, defaults, report } = context
  if (configured.length === 0)
    report('accepts', 'missing_option', 'there is no network: configure `networks`')
  const merchant = readOption(merchantSchema, given, report)
  if (merchant === undefined) return undefined
  const { minAmount, maxAmount } = merchant
  if (minAmount && maxAmount && compare(minAmount, maxAmount) > 0)
    report('maxAmount', 'conflicting_options', 'is less than `minAmount`')

  const offered = networks.flatMap(({ assets }) => assets)
  const accepts = merchant.accepts?.flatMap(({ network, asset }, index) => {
    const found = findAcceptedAsset({ accepts: offered }, { network, asset })
    if (found !== undefined) return [found]
    // A network that is itself wrong has been reported already.
    const isUnresolved =
      configured.some((id) => sameNetwork(id, network)) &&
      !networks.some((one) => sameNetwork(one.network.caip2, network))
    if (!isUnresolved)
      report(
        `accepts.${index}`,
        'unknown_asset',
        `${quoteName(asset)} on ${quoteName(network)} is not among \`networks\`; ${suggestAccepted(asset, network, offered)}`,
      )
    return []
  })
  if (NEVER_FACTORIES.some((one) => sameHex(one, merchant.payTo)))
    report('payTo', 'invalid_address', PAYS_ANYBODY)
  const token = offered.find(({ address }) => sameHex(address, merchant.payTo))
  if (token !== undefined)
    report(
      'payTo',
      'invalid_address',
      `is the contract of ${token.symbol}: what is sent there is lost; write an address of your own`,
    )
  const signer = defaults.receipts && addressOfPublicKey(defaults.receipts.publicKey)
  if (signer !== undefined && sameHex(signer, merchant.payTo))
    report('payTo', 'conflicting_options', SIGNS_RECEIPTS)
  const v1 = merchant.v1 ?? defaults.v1 === true
  return { ...merchant, v1, project, accepts: accepts ?? offered }
}

const MAX_LISTED = 5

/** The entry of `accepts` that was probably meant, else what there is. */
function suggestAccepted(asset: string, network: string, offered: readonly Asset[]): string {
  const idOf = (one: Network): string => one.shortName ?? one.caip2
  const there = offered.filter((one) => sameNetwork(one.network.caip2, network))
  const symbols = there.map(({ symbol }) => symbol)
  if (symbols.length > 0) return suggestName(asset, symbols)
  const all = offered.slice(0, MAX_LISTED).map((one) => `'${one.symbol}' on '${idOf(one.network)}'`)
  return all.length > 0 ? `there is ${all.join(', ')}` : 'no token is'
}
