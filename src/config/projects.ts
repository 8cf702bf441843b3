import {
  findAcceptedAsset,
  parseConfiguredToken,
  type Merchant,
  type Project,
} from '../merchants/project.js'
import { compare, parseDecimal, type Decimal } from '../money/decimal.js'
import { hasShape, within, type Report } from './report.js'
import { merchantSchema, projectSchema, TOKEN_FORMS } from './schemas.js'
import type { GatewayOptions, MerchantOptions, ProjectOptions } from './options.js'
import { sameNetwork } from '../protocol/networks.js'
import type { Address } from '../protocol/payment.js'
import type { ResolvedNetwork } from './networks.js'

const DEFAULT_MAX_TIMEOUT_SECONDS = 300

/** Reads the projects of a gateway's options, with their tokens and merchants. */
export function resolveProjects(
  options: GatewayOptions,
  networks: readonly ResolvedNetwork[],
  report: Report,
): readonly Project[] {
  if (!Array.isArray(options.projects)) return []
  const takenIds = new Set<string>()
  const takenHashes = new Set<string>()
  return (options.projects as readonly ProjectOptions[]).flatMap((project, index) => {
    const reportHere = within(report, `projects.${index}`)
    if (!hasShape(projectSchema, project, reportHere)) return []
    const { id, tokens = [], merchant } = project
    if (takenIds.has(id)) reportHere('id', `'${id}' is taken by another project`)
    takenIds.add(id)

    const tokenHashes = tokens.flatMap((token, position) => {
      const reportToken = within(reportHere, `tokens.${position}`)
      const hash = parseConfiguredToken(token)
      if (hash === undefined) {
        reportToken('', TOKEN_FORMS)
        return []
      }
      if (takenHashes.has(hash.toString('hex'))) reportToken('', 'is there already')
      takenHashes.add(hash.toString('hex'))
      return [hash]
    })
    if (merchant === undefined) return [{ id, tokenHashes }]
    const context = { project: id, options, networks }
    return [
      {
        id,
        tokenHashes,
        merchant: resolveMerchant(merchant, context, within(reportHere, 'merchant')),
      },
    ]
  })
}

interface MerchantContext {
  readonly project: string
  readonly options: GatewayOptions
  readonly networks: readonly ResolvedNetwork[]
}

function resolveMerchant(
  merchant: MerchantOptions,
  { project, options, networks }: MerchantContext,
  report: Report,
): Merchant | undefined {
  const configured = Object.keys(options.networks ?? {})
  if (configured.length === 0) report('accepts', 'there is no network: configure `networks`')
  if (!hasShape(merchantSchema, merchant, report)) return undefined

  const minAmount = limitOf(merchant.minAmount)
  const maxAmount = limitOf(merchant.maxAmount)
  if (minAmount && maxAmount && compare(minAmount, maxAmount) > 0)
    report('maxAmount', 'is less than `minAmount`')
  const offered = networks.flatMap(({ assets }) => assets)
  const accepts = merchant.accepts?.flatMap(({ network, asset }, index) => {
    const found = findAcceptedAsset({ accepts: offered }, { network, asset })
    if (found !== undefined) return [found]
    // Where the network itself is wrong, that is what is to be mended.
    const isUnresolved =
      configured.some((id) => sameNetwork(id, network)) &&
      !networks.some((one) => sameNetwork(one.network.caip2, network))
    if (!isUnresolved)
      report(`accepts.${index}`, `'${asset}' on '${network}' is not among \`networks\``)
    return []
  })
  return {
    project,
    name: merchant.name,
    payTo: merchant.payTo as Address,
    currency: merchant.currency ?? 'USD',
    accepts: accepts ?? offered,
    crossCurrency: merchant.crossCurrency ?? false,
    fxBufferBps: merchant.fxBufferBps ?? 0,
    minAmount,
    maxAmount,
    maxTimeoutSeconds: merchant.maxTimeoutSeconds ?? DEFAULT_MAX_TIMEOUT_SECONDS,
    repeatSettlements: merchant.repeatSettlements ?? false,
    redeemWithoutProof: merchant.redeemWithoutProof ?? 'same-address',
  }
}

function limitOf(text: string | undefined): Decimal | undefined {
  return text === undefined ? undefined : parseDecimal(text)
}
