/** Contents of a merchant's form, and its request. */
import type { MerchantSettings, Project, SessionNetwork } from '../api/documents.js'

/** Contents of the form: texts as they are typed. */
export type Draft = ReturnType<typeof draftOf>

/** Makes the draft of a merchant, or of a new one. */
export function draftOf(project: Project | undefined) {
  const { merchant = {} } = project ?? {}
  const text = (value: string | number | undefined): string => String(value ?? '')
  return {
    id: project?.id ?? '',
    name: text(merchant.name),
    payTo: text(merchant.payTo),
    /** The new address a second time. */
    payToAgain: '',
    currency: merchant.currency ?? 'USD',
    /** `network asset`; none accepts all. */
    accepts: (merchant.accepts ?? []).map(({ network, asset }) => `${network} ${asset}`),
    crossCurrency: merchant.crossCurrency ?? false,
    fxBufferBps: text(merchant.fxBufferBps),
    minAmount: text(merchant.minAmount),
    maxAmount: text(merchant.maxAmount),
    maxTimeoutSeconds: text(merchant.maxTimeoutSeconds),
    redeemWithoutProof: merchant.redeemWithoutProof ?? '',
    listed: merchant.listed ?? true,
    /** `yes` or `no`; `''` as the gateway does. */
    v1: merchant.v1 === undefined ? '' : merchant.v1 ? 'yes' : 'no',
  }
}

/** Members of the settings; in a change, `null` removes one (RFC 7396). */
type Members = Readonly<Record<Exclude<keyof MerchantSettings, 'branding'>, unknown>>

/** Settings for the API. Invalid numbers are sent as text, for the gateway to refuse. */
function settingsOf(draft: Draft): Members {
  const text = (value: string): string | null => (value.trim() === '' ? null : value.trim())
  const number = (value: string): number | string | null =>
    /^\d{1,9}$/.test(value.trim()) ? Number(value) : text(value)
  return {
    name: text(draft.name),
    payTo: text(draft.payTo),
    currency: text(draft.currency.toUpperCase()),
    accepts: draft.accepts.length === 0 ? null : draft.accepts.map(readAccepted),
    crossCurrency: draft.crossCurrency || null,
    fxBufferBps: number(draft.fxBufferBps),
    minAmount: text(draft.minAmount),
    maxAmount: text(draft.maxAmount),
    maxTimeoutSeconds: number(draft.maxTimeoutSeconds),
    redeemWithoutProof: text(draft.redeemWithoutProof),
    listed: draft.listed === true ? null : draft.listed,
    v1: draft.v1 === '' ? null : draft.v1 === 'yes',
  }
}

/** Whether the new address was typed twice in the same way. */
export const isRepeated = ({ payTo, payToAgain }: Draft): boolean =>
  payTo.trim() === payToAgain.trim()

/** Changed settings. `payTo` is among them only if it is another: naming it takes back one that waits. */
export function changesOf({ merchant = {} }: Project, draft: Draft): Partial<Members> {
  const { payTo, ...others } = settingsOf(draft)
  return payTo === merchant.payTo ? others : { ...others, payTo }
}

/** Settings of a new merchant, without empty ones. */
export function newSettingsOf(draft: Draft): Partial<Members> {
  return Object.fromEntries(Object.entries(settingsOf(draft)).filter(([, value]) => value !== null))
}

function readAccepted(text: string): { readonly network: string; readonly asset: string } {
  const [network = '', asset = ''] = text.split(' ')
  return { network, asset }
}

/** Tokens to choose from: those of the gateway, and those already chosen. */
export function choicesOf(
  networks: readonly SessionNetwork[],
  chosen: readonly string[],
): ReadonlyArray<readonly [value: string, label: string, currency?: string | undefined]> {
  const offered = networks.flatMap(({ network, name, chainId, assets }) =>
    assets.map(({ symbol, address, currency }) => {
      const same = [network, `eip155:${chainId}`].flatMap((one) =>
        [symbol, address].map((asset) => `${one} ${asset}`.toLowerCase()),
      )
      const value = chosen.find((one) => same.includes(one.toLowerCase()))
      return [value ?? `${network} ${symbol}`, `${symbol} on ${name}`, currency] as const
    }),
  )
  const others = chosen.filter((one) => !offered.some(([value]) => value === one))
  return [...offered, ...others.map((one) => [one, one.replace(' ', ': ')] as const)]
}

/** Whether prices in the merchant's currency can be paid: in a token that is worth it, or at a rate. */
export function canSell(
  networks: readonly SessionNetwork[],
  { accepts, currency, crossCurrency }: Draft,
): boolean {
  const isTaken = (value: string): boolean => accepts.length === 0 || accepts.includes(value)
  const choices = choicesOf(networks, accepts)
  return crossCurrency || choices.some(([value, , peg]) => peg === currency && isTaken(value))
}
