import { useMemo, useState } from 'preact/hooks'
import type { Wallet } from '../../../browser/use-wallets.js'
import { data, serverNow } from './data.js'
import { Link, NoticeText } from './notice.js'
import { allowsAnother, firstPhase, Purchases, type Phase } from './purchases.js'
import { Result } from './result.js'
import { text } from './texts.js'
import { WalletList } from './wallet-list.js'

/** The interactive part of the page. */
export function App() {
  const [phase, setPhase] = useState<Phase>(firstPhase)
  const purchases = useMemo(() => new Purchases(setPhase), [])
  switch (phase.kind) {
    case 'offer':
      return (
        <>
          <NoticeText notice={phase.notice} />
          <Offers onPay={(wallet, choice) => void purchases.pay(wallet, choice)} />
        </>
      )
    case 'busy':
      return (
        <p class="step" role="status">
          {phase.step}
          {phase.transaction !== undefined && (
            <Link to={phase.transaction} label={text('transaction')} />
          )}
        </p>
      )
    case 'kept':
      return <Kept phase={phase} purchases={purchases} />
    case 'delivered':
      return <Result delivery={phase.delivery} transaction={phase.transaction} />
  }
}

interface OffersProps {
  readonly onPay: (wallet: Wallet, choice: number) => void
}

/** The ways to pay, what the buyer signs, and the wallets. */
function Offers({ onPay }: OffersProps) {
  const [choice, setChoice] = useState(0)
  const offer = data.offers[choice]
  const terms = data.document.accepts[choice]
  if (offer === undefined || terms === undefined) return null
  const { amount, network, minutes } = offer
  const { seller } = data
  return (
    <>
      {data.offers.length > 1 && <Choices chosen={choice} onChoose={setChoice} />}
      <h2>{text('whatYouSign')}</h2>
      <p class="signed">
        {text('signedWords', { amount, network, seller, minutes, address: terms.payTo })}
      </p>
      <WalletList amount={amount} onChoose={(wallet) => onPay(wallet, choice)} />
    </>
  )
}

interface ChoicesProps {
  readonly chosen: number
  readonly onChoose: (choice: number) => void
}

function Choices({ chosen, onChoose }: ChoicesProps) {
  return (
    <fieldset>
      <legend>{text('choose')}</legend>
      {data.offers.map(({ amount, network }, choice) => (
        <label key={choice}>
          <input
            type="radio"
            name="offer"
            checked={choice === chosen}
            onChange={() => onChoose(choice)}
          />
          {amount} · {network}
        </label>
      ))}
    </fieldset>
  )
}

interface KeptProps {
  readonly phase: Extract<Phase, { kind: 'kept' }>
  readonly purchases: Purchases
}

/** Presents a kept payment again, and lets the buyer sign no other meanwhile. */
function Kept({ phase: { payment, notice }, purchases }: KeptProps) {
  const { isDelivered } = payment
  const message = isDelivered ? text('bought') : text('kept')
  return (
    <>
      <NoticeText notice={notice ?? { message }} />
      <div class="buttons">
        <button type="button" onClick={() => void purchases.present(payment)}>
          {isDelivered ? text('showAgain') : text('presentAgain')}
        </button>
        {allowsAnother(payment, serverNow()) && (
          <button type="button" class="quiet" onClick={() => purchases.forget()}>
            {text('payAnew')}
          </button>
        )}
      </div>
    </>
  )
}
