import { useState } from 'preact/hooks'
import { ask, Problem, toProblem } from '../api/client.js'
import type { RefundToSign, SessionNetwork, Settlement } from '../api/documents.js'
import { findKept, sendOnce, type SignedRefund } from '../api/kept-refund.js'
import { useAction } from '../api/use-load.js'
import { formatToken, unitsOf } from '../format/money.js'
import { TextField } from '../parts/field.js'
import { Notice, ProblemNotice } from '../parts/notice.js'
import { announce } from '../state/announce.js'
import { useWallets, type Wallet } from '../../browser/use-wallets.js'
import {
  checkRefund,
  findAccount,
  signRefund,
  switchTo,
  WalletError,
  type AskedRefund,
} from '../wallet/sign-refund.js'

interface RefundFormProps {
  readonly payment: Settlement
  readonly network: SessionNetwork
  /** Refundable amount in tokens. */
  readonly left: string
  /** The endpoint of the settlement's refunds. */
  readonly path: string
  readonly onRefund: () => void
}

/** Refunds from the merchant's wallet, which signs; the gateway sends and pays the gas. */
export function RefundForm({ payment, network, left, path, onRefund }: RefundFormProps) {
  const wallets = useWallets()
  const [amount, setAmount] = useState(left)
  const [reason, setReason] = useState('')
  const [step, setStep] = useState('')
  const { decimals = 0, symbol = 'tokens' } = payment
  const units = unitsOf(amount, decimals)
  const most = unitsOf(left, decimals) ?? 0n
  const error = errorOf(units, { most, shown: `${left} ${symbol}`, decimals })
  const shownOf = ({ authorization: { value } }: SignedRefund): string =>
    formatToken({ ...payment, amount: value })
  const action = useAction(async (sign: () => Promise<SignedRefund>) => {
    const signed = await sign()
    setStep('Sent to the gateway; waiting for the chain…')
    announce(`Refund of ${shownOf(await sendOnce(payment.id, path, signed))} was sent.`)
  })
  const send = async (sign: () => Promise<SignedRefund>): Promise<void> => {
    const isDone = await action.run(sign)
    setStep('')
    // Without an answer, the list may tell.
    if (isDone || findKept(payment.id) !== undefined) onRefund()
  }
  const refund = async (wallet: Wallet): Promise<void> => {
    if (units === undefined || error !== undefined) return
    const asked = { payment, network, amount: units, path, reason: reason.trim() }
    await send(() => signedBy(wallet, asked, setStep))
  }
  const kept = findKept(payment.id)
  if (kept !== undefined && !action.isBusy) {
    const said = action.problem?.message ?? 'No answer has come.'
    const detail = `Was the refund of ${shownOf(kept)} made? ${said} Try again to find out: the same refund is made once.`
    const again = (): void => void send(() => Promise.resolve(kept))
    return <ProblemNotice problem={new Problem(0, { detail })} onRetry={again} />
  }
  return (
    <form class="refund" onSubmit={(event) => event.preventDefault()}>
      <h3>Refund</h3>
      <TextField
        label={`Amount in ${symbol}`}
        inputMode="decimal"
        value={amount}
        onValue={setAmount}
        error={error}
        hint={`At most ${left} ${symbol}. Your wallet signs; the gateway sends it and pays the gas.`}
      />
      <TextField
        label="Reason"
        value={reason}
        onValue={setReason}
        error={action.problem?.errorOf('reason')}
        hint="For your books; may be empty."
      />
      <ProblemNotice problem={action.problem} />
      <Wallets of={wallets} isBusy={action.isBusy} onChoose={(wallet) => void refund(wallet)} />
      <p class="hint" role="status">
        {step}
      </p>
    </form>
  )
}

interface Limits {
  readonly most: bigint
  readonly shown: string
  readonly decimals: number
}

function errorOf(units: bigint | undefined, { most, shown, decimals }: Limits): string | undefined {
  if (units === undefined)
    return `Enter a number such as 0.25, with at most ${decimals} digits after the point.`
  if (units === 0n) return 'Must be more than zero.'
  return units > most ? `Only ${shown} is left to refund.` : undefined
}

interface WalletsProps {
  readonly of: readonly Wallet[]
  readonly isBusy: boolean
  readonly onChoose: (wallet: Wallet) => void
}

function Wallets({ of, isBusy, onChoose }: WalletsProps) {
  if (of.length === 0)
    return (
      <Notice>
        No wallet found. Unlock one with the account that received this payment, then reload this
        page.
      </Notice>
    )
  return (
    <div class="actions" role="group" aria-label="Wallets">
      {of.map((wallet) => (
        <button
          key={wallet.info.uuid}
          type="button"
          class="button button-main"
          aria-disabled={isBusy}
          onClick={() => onChoose(wallet)}
        >
          {wallet.info.icon.startsWith('data:image/') && (
            <img src={wallet.info.icon} alt="" width="18" height="18" />
          )}
          Refund with {wallet.info.name}
        </button>
      ))}
    </div>
  )
}

interface RefundToPrepare extends AskedRefund {
  readonly path: string
  readonly reason: string
}

/** Prepares a refund, and asks for its signature. */
async function signedBy(
  { provider, info }: Wallet,
  asked: RefundToPrepare,
  tell: (step: string) => void,
): Promise<SignedRefund> {
  const { payment, network, amount, path, reason } = asked
  try {
    tell(`Asking ${info.name} for the account…`)
    const account = await findAccount(provider, payment)
    await switchTo(provider, network)
    const prepared = `${path}/prepare?amount=${amount}`
    const { typedData } = await ask<{ readonly typedData: RefundToSign }>('GET', prepared)
    checkRefund(typedData, asked)
    tell(`Sign the refund in ${info.name}.`)
    const signature = await signRefund(provider, account, typedData)
    return { authorization: typedData.message, signature, ...(reason && { reason }) }
  } catch (error) {
    throw error instanceof WalletError ? toProblem(error.message) : error
  }
}
