import { isRateError } from '../../shared/errors.js'
import { requirePeg, requireRate } from '../../core/quotes/asset-rates.js'
import type { Merchant, Project } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import { formatDecimal } from '../../shared/money/decimal.js'
import type { RateSource } from '../../shared/money/rates.js'
import {
  CLIENT_HEADER_BYTES,
  NGINX_REMEDY,
  PROXY_HEADER_BYTES,
} from '../../shared/protocol/headers.js'
import { failed, fine, findings, type Finding, type Place } from './finding.js'

interface ProjectsToCheck {
  readonly projects: readonly Project[]
  readonly rates: RateSource
  readonly headerBytesOf: (merchant: Merchant) => number
}

/** Checks that each project has a merchant, and that prices in its currency can be paid. */
export async function checkProjects(parts: ProjectsToCheck): Promise<readonly Finding[]> {
  const found = await Promise.all(parts.projects.map((project) => checkProject(parts, project)))
  return found.flat()
}

async function checkProject(
  { rates, headerBytesOf }: ProjectsToCheck,
  { id: project, merchant }: Project,
): Promise<readonly Finding[]> {
  const place = { subject: 'project', project } as const
  if (merchant === undefined) {
    const message = `Project ${project} has no merchant: its payments are refused until it has one.`
    return [{ ...place, status: 'warning', code: 'merchant_missing', message }]
  }
  const offers = await Promise.all(
    merchant.accepts.map(async (asset) => ({
      asset,
      rate: await checkRate(merchant, asset, rates),
    })),
  )
  const isTaken = ({ rate }: (typeof offers)[number]): boolean =>
    rate !== 'not_offered' && rate?.status !== 'error'
  const failures = offers.flatMap(({ rate }) =>
    rate === undefined || rate === 'not_offered' ? [] : [rate],
  )
  const taken = offers.filter(isTaken)
  const { currency } = merchant
  if (taken.length === 0) {
    const all = merchant.accepts.map(nameOf).join(', ') || 'no token'
    const remedy =
      failures.length > 0
        ? ''
        : ` Accept a token whose \`currency\` is ${currency}, or set crossCurrency: true and rates.`
    const message = `Project ${project} cannot take prices in ${currency} now. It accepts ${all}.${remedy}`
    return [...failures, failed(place, { code: 'unsupported_currency', message })]
  }
  const names = taken.map(({ asset }) => nameOf(asset)).join(', ')
  const message = `Project ${project} takes prices in ${currency}, paid in ${names} to ${merchant.payTo}.`
  const headerBytes = headerBytesOf(merchant)
  return [
    fine(place, message, { headerBytes }),
    ...checkHeader(place, { project, headerBytes }),
    ...failures,
  ]
}

function checkHeader(
  place: Place,
  { project, headerBytes }: { readonly project: string; readonly headerBytes: number },
): readonly Finding[] {
  if (headerBytes <= PROXY_HEADER_BYTES) return []
  const clients =
    headerBytes > CLIENT_HEADER_BYTES
      ? `, and some clients refuse more than ${CLIENT_HEADER_BYTES}`
      : ''
  const message = `402s of project ${project} have a PAYMENT-REQUIRED header of ${headerBytes} bytes: ${NGINX_REMEDY}${clients}. Or offer fewer tokens, or shorten descriptions.`
  return [{ ...place, status: 'warning', code: 'header_too_large', message, headerBytes }]
}

/**
 * Checks the rate of a token.
 *
 * @returns `undefined` if it needs none; `not_offered` if the merchant never takes it for their currency.
 */
async function checkRate(
  merchant: Merchant,
  asset: Asset,
  rates: RateSource,
): Promise<Finding | 'not_offered' | undefined> {
  const { project, currency, crossCurrency } = merchant
  const { address, symbol, network } = asset
  const counted = asset.currency ?? asset.rateSymbol
  if (counted === undefined || (counted !== currency && !crossCurrency)) return 'not_offered'
  const isGuarded = asset.depegGuardBps !== undefined
  if (counted === currency && !isGuarded) return undefined
  const place = { subject: 'rate', project, network: network.caip2, address, symbol } as const
  const [found] = await findings(place, async () => {
    try {
      await requirePeg(asset, rates)
      if (counted === currency) return [fine(place, `${symbol} is worth one ${currency}.`)]
      const { rate, source } = await requireRate(rates, currency, counted)
      const from = source.slice(0, MAX_SOURCE)
      return [fine(place, `One ${currency} is ${formatDecimal(rate)} ${counted} (${from}).`)]
    } catch (error) {
      if (!isRateError(error)) throw error
      const { code, message: reason } = error
      const message = `${reason} Until then, ${symbol} on ${network.name} is not offered for ${currency}.`
      return [failed(place, { code, message })]
    }
  })
  return found
}

/** Longest name of a rate source that a message repeats. */
const MAX_SOURCE = 60

const nameOf = ({ symbol, network }: Asset): string => `${symbol} on ${network.name}`
