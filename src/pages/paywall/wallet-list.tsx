import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Wallet } from '../browser/use-wallets.js'
import { NoWallet } from './no-wallet.js'
import type { PageOffer } from '../../sell/paywall/page-data.js'
import { text } from './texts.js'
import { useAccount } from './use-account.js'
import { INJECTED, usePayers } from './use-payers.js'

interface WalletsProps {
  readonly offer: PageOffer
  readonly onChoose: (wallet: Wallet) => void
  readonly onOtherAccount: () => void
}

interface WalletListProps extends WalletsProps {
  /** What the buyer signs, shown below the wallets. */
  readonly children: ComponentChildren
}

/** A button for each wallet, or ways to get one. */
export function WalletList({ children, ...props }: WalletListProps) {
  const wallets = usePayers()
  if (wallets === undefined) return null
  if (wallets.length === 0) return <NoWallet offer={props.offer} />
  return (
    <>
      <div class="buttons wallets">
        {wallets.map((wallet) => (
          <WalletButton key={wallet.info.uuid} wallet={wallet} {...props} />
        ))}
      </div>
      {children}
    </>
  )
}

interface WalletButtonProps extends WalletsProps {
  readonly wallet: Wallet
}

/** Pays with a wallet, and names the account if the wallet shares it already. */
function WalletButton({ wallet, offer, onChoose, onOtherAccount }: WalletButtonProps) {
  const { info, provider } = wallet
  const { amount } = offer
  const { address, choose } = useAccount(provider, onOtherAccount)
  const [hint, setHint] = useState('')
  const change = async (): Promise<void> => {
    setHint((await choose()) ? '' : text('accountInWallet', { wallet: info.name }))
  }
  return (
    <>
      <button type="button" onClick={() => onChoose(wallet)}>
        {info.icon.startsWith('data:image/') && (
          <img src={info.icon} alt="" width="20" height="20" />
        )}
        {info.uuid === INJECTED
          ? text('pay', { amount })
          : text('payWith', { amount, wallet: info.name })}
      </button>
      {address !== undefined && (
        <p class="row">
          <span class="code" title={address}>{`${address.slice(0, 6)}…${address.slice(-4)}`}</span>
          <button type="button" class="small" onClick={() => void change()}>
            {text('anotherAccount')}
          </button>
          <span role="status">{hint}</span>
        </p>
      )}
    </>
  )
}
