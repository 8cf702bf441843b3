import type { Wallet } from '../../../browser/use-wallets.js'
import { text } from './texts.js'
import { usePayers } from './use-payers.js'

interface WalletListProps {
  readonly amount: string
  readonly onChoose: (wallet: Wallet) => void
}

/** A button for each wallet, or ways to get one. */
export function WalletList({ amount, onChoose }: WalletListProps) {
  const wallets = usePayers()
  if (wallets === undefined) return null
  if (wallets.length === 0) return <NoWallet />
  return (
    <div class="buttons">
      {wallets.map((wallet) => (
        <button key={wallet.info.uuid} type="button" onClick={() => onChoose(wallet)}>
          {wallet.info.icon.startsWith('data:image/') && (
            <img src={wallet.info.icon} alt="" width="20" height="20" />
          )}
          {text('payWith', { amount, wallet: wallet.info.name })}
        </button>
      ))}
    </div>
  )
}

/** Wallet apps with a browser of their own. */
const APPS: readonly (readonly [name: string, link: (url: string) => string])[] = [
  ['MetaMask', (url) => `https://metamask.app.link/dapp/${url.replace(/^https?:\/\//, '')}`],
  ['Coinbase Wallet', (url) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(url)}`],
  [
    'Trust Wallet',
    (url) => `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(url)}`,
  ],
]

function NoWallet() {
  return (
    <>
      <p class="notice" role="status">
        {text('noWallet')}
      </p>
      <div class="buttons">
        <button type="button" onClick={() => location.reload()}>
          {text('tryAgain')}
        </button>
      </div>
      {isPhone() && (
        <>
          <p>{text('openIn')}</p>
          <ul>
            {APPS.map(([name, link]) => (
              <li key={name}>
                <a href={link(location.href)} rel="noopener noreferrer">
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

const isPhone = (): boolean => matchMedia('(pointer: coarse)').matches
