/**
 * What must hold of every payment once the faults have ended and time has passed, whoever has made them.
 *
 * 1. A payment buys one good at most, and only that which was offered for it.
 * 2. Nobody is served unpaid: what was received is paid for on the chain.
 * 3. Money that moved has bought something, or is in the books: the ledger has it as settled.
 *    Whoever was there all the time has got it.
 * 4. The ledger says of each payment what the chain says, and leaves none open.
 * 5. The books equal the chain, to the unit.
 */
import type { LedgerStore } from '../../src/ledger/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { TOKEN, type Chain } from './chain.js'
import { GOODS, type Purchase } from './buyers.js'

export interface Violation {
  readonly purchase: number
  readonly words: string
}

export interface Judged {
  readonly chain: Chain
  readonly ledger: LedgerStore
  readonly purchases: readonly Purchase[]
  readonly payTo: string
}

export async function judge({ chain, ledger, purchases, payTo }: Judged): Promise<Violation[]> {
  const violations: Violation[] = []
  let books = 0n
  for (const purchase of purchases) {
    const { number, signed, received, kind, path } = purchase
    const accuse = (words: string) => void violations.push({ purchase: number, words })
    const hash = chain.useOf(signed.from, signed.nonce)
    const [from, nonce] = [signed.from as Hex, signed.nonce as Hex]
    const record = await ledger.payments.find({ chainId: 84532, contract: TOKEN, from, nonce })
    const isMoved = hash !== undefined && signed.to === payTo
    if (isMoved) books += signed.value
    // A stranger's transaction is not ours to send again, and what a reorganisation undoes of it stays undone.
    const isUndone =
      hash === undefined &&
      record?.state === 'settled' &&
      record.transaction === purchase.overtakenBy
    const hasInsisted = kind === 'honest' && !purchase.isCut
    if (isMoved && hasInsisted && received.size === 0 && !path.startsWith('/free'))
      accuse('has paid and got nothing, and was there all the time')
    if (purchase.isEarly) accuse('was served before the chain had its payment')
    if (received.size > 1) accuse(`bought ${received.size} goods`)
    if (received.size > 0 && signed.to !== payTo) accuse('was served for paying somebody else')
    for (const one of received) {
      if (hash === undefined && !isUndone) accuse('was served, and has not paid')
      if (!one.startsWith(`${path} `)) accuse(`bought ${one} in place of ${path}`)
      if (!one.includes(signed.nonce)) accuse(`got the good of another: ${one}`)
      if (kind === 'altered' && signed.value !== GOODS[path]) accuse('got it for less')
    }
    const state = record?.state
    if (state === 'submitted') accuse(`is still open: ${state}, though all is over`)
    if (state === 'settled' && hash === undefined && !isUndone)
      accuse('is settled in the ledger alone')
    if (isMoved && state !== 'settled' && kind !== 'altered' && kind !== 'overtaken')
      accuse(`has paid, and the ledger has it as ${state ?? 'unknown'}`)
    if (path.startsWith('/free') && hash !== undefined && kind !== 'overtaken')
      accuse('has paid for what is free')
  }
  const balance = chain.balance(payTo)
  if (books !== balance)
    violations.push({ purchase: -1, words: `the books have ${books}, the chain ${balance}` })
  return violations
}
