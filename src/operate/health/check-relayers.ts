import { formatEther } from 'viem/utils'
import type { Chain } from '../../core/chain/chain.js'
import type { LedgerStore } from '../../ledger/index.js'
import { gasTokenOf } from '../../shared/protocol/networks.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import { describeDelegation } from '../../core/relayer/delegated-account.js'
import { failed, fine, findings, type Finding, type Place } from './finding.js'

/** How long a transaction may be pending without a warning (ms). */
const STUCK_MS = 60_000

export interface RelayersToCheck {
  readonly chain: Pick<Chain, 'network' | 'getCode' | 'getMinedNonce' | 'getPendingNonce'>
  readonly relayers: Pick<RelayerPool, 'accounts'>
  readonly ledger: Pick<LedgerStore, 'relayers'>
}

type Account = RelayersToCheck['relayers']['accounts'][number]

/** Checks each relayer of a network: gas money, pending transactions, and account. */
export async function checkRelayers(parts: RelayersToCheck): Promise<readonly Finding[]> {
  const network = parts.chain.network.caip2
  const found = await Promise.all(
    parts.relayers.accounts.flatMap((account) => {
      const place = { subject: 'relayer', network, address: account.address } as const
      return findings(place, async () => [
        await checkFunds(parts, account, place),
        ...(await checkNonces(parts, account, place)),
        ...(await checkDelegation(parts, account, place)),
      ])
    }),
  )
  return found.flat()
}

async function checkFunds(
  { chain }: RelayersToCheck,
  { funds, address }: Account,
  place: Place,
): Promise<Finding> {
  const { balance, settlements, isLow } = await funds.read()
  const details = { balance: balance.toString(), settlements: Number(settlements) }
  const token = gasTokenOf(chain.network)
  const what = `Relayer ${address} on ${chain.network.name} has ${formatEther(balance)} ${token}`
  if (settlements < 1n)
    return failed(place, {
      ...details,
      code: 'relayer_without_funds',
      message: `${what}. Payments fail until you send ${token} to it.`,
    })
  const enough = `${what}, enough for about ${settlements} settlements`
  if (!isLow) return fine(place, `${enough}.`, details)
  return failed(place, {
    ...details,
    status: 'warning',
    code: 'relayer_low',
    message: `${enough}. Send ${token} to it.`,
  })
}

/** Finds pending transactions, but not those that are mined meanwhile. */
async function checkNonces(
  { chain, ledger }: RelayersToCheck,
  { address }: Account,
  place: Place,
): Promise<readonly Finding[]> {
  const { network } = chain
  const mined = await chain.getMinedNonce(address)
  const [waiting, next] = await Promise.all([
    ledger.relayers.listTransactions({ chainId: network.chainId, relayer: address }, mined),
    chain.getPendingNonce(address),
  ])
  const who = `Relayer ${address} on ${network.name}`
  const warn = (code: Finding['code'], message: string): readonly Finding[] => [
    { ...place, status: 'warning', code, message, pending: waiting.length },
  ]
  const [first] = waiting
  const relayer = { chainId: network.chainId, relayer: address }
  if (first === undefined)
    return next > mined && (await ledger.relayers.listTransactions(relayer, mined)).length === 0
      ? warn(
          'foreign_transactions',
          `${who} has pending transactions that are not from this gateway. Use its key for nothing else.`,
        )
      : []
  if (first.accountNonce > mined)
    return warn(
      'nonce_gap',
      `${who} has a transaction with account nonce ${first.accountNonce}, but none with ${mined}. The gateway fills the gap; if this persists, check the log.`,
    )
  if (first.ageMs < STUCK_MS) return []
  return warn(
    'transactions_stuck',
    `${who} has ${waiting.length} pending transactions, the oldest from ${Math.round(first.ageMs / 1000)} s ago. The gateway replaces it with higher fees unless gas costs more than maxFeePerGasGwei.`,
  )
}

async function checkDelegation(
  { chain }: RelayersToCheck,
  { address }: Account,
  place: Place,
): Promise<readonly Finding[]> {
  const message = await describeDelegation(chain, address)
  if (message === undefined) return []
  return [{ ...place, status: 'warning', code: 'relayer_delegated', message }]
}
