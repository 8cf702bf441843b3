import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Wallet } from '../browser/use-wallets.js'
import { data, serverNow } from './data.js'
import { onKeptElsewhere, shownUntil } from './kept-payment.js'
import { Link, NoticeText } from './notice.js'
import type { PageOffer } from '../../sell/paywall/page-data.js'
import { allowsAnother, firstPhase, Purchases, type Notice, type Phase } from './purchases.js'
import { Receipt } from './receipt.js'
import { Result } from './result.js'
import { coinOf, isPermit2, isSponsored } from './sign-payment.js'
import { formatTime, text } from './texts.js'
import { WalletList } from './wallet-list.js'

/** The interactive part of the page. */
export function App() {
  const [phase, setPhase] = useState<Phase>(firstPhase)
  const purchases = useMemo(() => new Purchases(setPhase), [])
  useEffect(
    () =>
      onKeptElsewhere(() =>
        setPhase((now) => (now.kind === 'offer' || now.kind === 'kept' ? firstPhase() : now)),
      ),
    [],
  )
  useEffect(() => void document.documentElement.classList.toggle('paid', isPaid(phase)), [phase])
  switch (phase.kind) {
    case 'offer':
      return (
        <>
          <NoticeText notice={phase.notice} />
          <Offers
            onPay={(wallet, offer) => void purchases.pay(wallet, offer)}
            onOtherAccount={() => setPhase({ kind: 'offer' })}
          />
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
      return <Result delivery={phase.delivery} payment={phase.payment} />
  }
}

/** Whether the page asks for no payment any more. */
function isPaid(phase: Phase): boolean {
  return (
    phase.kind === 'delivered' || (phase.kind === 'kept' && phase.payment.received !== undefined)
  )
}

interface OffersProps {
  readonly onPay: (wallet: Wallet, offer: PageOffer) => void
  /** A notice about the account before says nothing about this one. */
  readonly onOtherAccount: () => void
}

/** The price, the ways to pay, the wallets, and what the buyer signs. */
function Offers({ onPay, onOtherAccount }: OffersProps) {
  const [choice, setChoice] = useState(0)
  const offer = data.offers[choice]
  const terms = offer && data.document.accepts[offer.entry]
  if (offer === undefined || terms === undefined) return null
  const { amount, network, minutes, rate, testnet } = offer
  const { price } = data
  const paysFee = isPermit2(terms) && !isSponsored(data.document, terms)
  return (
    <>
      <p class="price">
        {price ?? amount} {testnet && <span class="badge">{text('testBadge')}</span>}
      </p>
      <p class="tokens">
        {text('onNetwork', { amount, network })}
        {rate !== undefined && ` · ${rate}`}
      </p>
      {data.offers.length > 1 && <Choices chosen={choice} onChoose={setChoice} />}
      <WalletList
        offer={offer}
        onChoose={(wallet) => onPay(wallet, offer)}
        onOtherAccount={onOtherAccount}
      >
        <p class="signed">
          {text(terms.scheme === 'upto' ? 'signedUpTo' : 'signedWords', {
            amount,
            network,
            minutes,
            address: terms.payTo,
          })}
          {isPermit2(terms) &&
            ` ${text(paysFee ? 'permit2Words' : 'permit2Sponsored', { amount, coin: coinOf(offer) })}`}
          {!paysFee && ` ${text('noFee')}`}
        </p>
      </WalletList>
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
      {data.offers.map(({ entry, amount, network, testnet }, choice) => (
        <label key={choice}>
          <input
            type="radio"
            name="offer"
            checked={choice === chosen}
            onChange={() => onChoose(choice)}
          />
          {text('onNetwork', { amount, network })}
          {isPermit2(data.document.accepts[entry]) && ' · Permit2'}
          {testnet && ` (${text('testBadge')})`}
        </label>
      ))}
    </fieldset>
  )
}

interface KeptProps {
  readonly phase: Extract<Phase, { kind: 'kept' }>
  readonly purchases: Purchases
}

/** Shows a purchase again, or finishes it. Another payment is signed only once this one cannot be settled. */
function Kept({ phase: { payment, notice }, purchases }: KeptProps) {
  const { received, signedAt, receipt } = payment
  const date = formatTime(signedAt)
  const { amount, price = amount, seller, network } = receipt
  const isPaidLink = data.isLink && received !== undefined
  const found: Notice = isPaidLink
    ? { message: text('linkPaid', { amount: price, seller, date }), tone: 'good' }
    : received === 'again'
      ? { message: text('bought', { date, until: formatTime(shownUntil(payment)) }), tone: 'good' }
      : received === 'once'
        ? { message: text('boughtOnce', { date }), tone: 'good' }
        : { message: text('kept'), tone: 'wait' }
  return (
    <>
      <NoticeText notice={notice ?? found} />
      {received === undefined && <p class="tokens">{text('onNetwork', { amount, network })}</p>}
      <div class="buttons">
        {received !== 'once' && (
          <button type="button" onClick={() => void purchases.present(payment)}>
            {text(received === 'again' ? 'showAgain' : 'presentAgain')}
          </button>
        )}
        {data.offers.length > 0 && !isPaidLink && allowsAnother(payment, serverNow()) && (
          <button type="button" class="quiet" onClick={() => purchases.payAnew(payment)}>
            {text('payAnew')}
          </button>
        )}
      </div>
      {received !== undefined && (
        <>
          <Receipt payment={payment} />
          <p>
            <button type="button" class="small" onClick={() => purchases.remove(payment)}>
              {text('remove')}
            </button>
          </p>
        </>
      )}
    </>
  )
}
