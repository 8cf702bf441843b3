import { resolveOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { isConfigError } from '../../../shared/errors.js'
import { knownAssets } from '../../../shared/money/assets.js'
import { findNetwork } from '../../../shared/protocol/networks.js'
import { UsageError, type CommandLine } from '../flags.js'

export interface Answers {
  readonly network: string
  readonly rpcUrl: string
  readonly payTo: string
}

/** Public nodes for a first try. They limit requests. */
const PUBLIC_NODES: ReadonlyMap<string, string> = new Map([
  ['base', 'https://mainnet.base.org'],
  ['base-sepolia', 'https://sepolia.base.org'],
])

/** The answers and their flags, in the order in which they are checked. */
const FLAGS = [
  ['network', 'network'],
  ['rpcUrl', 'rpc-url'],
  ['payTo', 'pay-to'],
] as const

/** Defaults, and values that stand in for the answers that are not read yet. */
const PLACEHOLDERS: Answers = {
  network: 'base-sepolia',
  rpcUrl: 'https://node.example',
  payTo: `0x${'01'.repeat(20)}`,
}

/** The well-known tokens of a network that are pegged to the dollar. */
export function dollarsOf(network: string): readonly string[] {
  const found = findNetwork(network)
  const known = found === undefined ? [] : knownAssets(found)
  return known.flatMap(({ symbol, currency }) => (currency === 'USD' ? [symbol] : []))
}

/** @throws `UsageError` for the first answer that is missing, or that the configuration would refuse. */
export function readAnswers(flags: CommandLine['flags']): Answers {
  let answers = PLACEHOLDERS
  for (const [name, flag] of FLAGS) {
    const answer = flags[flag]?.trim() ?? defaultOf(name, answers)
    if (answer === undefined) throw new UsageError(`--${flag} is missing.`)
    answers = { ...answers, [name]: answer }
    const problem = problemWith(answers)
    if (problem !== undefined) throw new UsageError(`--${flag}: ${problem.replace(/[^?]$/, '$&.')}`)
  }
  return answers
}

function defaultOf(name: keyof Answers, { network }: Answers): string | undefined {
  if (name === 'network') return network
  return name === 'rpcUrl' ? PUBLIC_NODES.get(findNetwork(network)?.shortName ?? '') : undefined
}

function problemWith({ network, rpcUrl, payTo }: Answers): string | undefined {
  const assets = dollarsOf(network)
  if (findNetwork(network) !== undefined && assets.length === 0)
    return 'has no well-known token: choose another network now, and add this one with its token later'
  const relayerKeys = [`0x${'01'.repeat(32)}`]
  try {
    resolveOptions({
      networks: { [network]: { rpcUrl, relayerKeys, ...(assets.length > 0 && { assets }) } },
      projects: [{ id: 'shop', merchant: { payTo } }],
    })
    return undefined
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.issues[0]?.message
  }
}
