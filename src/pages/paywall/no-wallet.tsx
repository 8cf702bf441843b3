import { QrCode } from '../browser/qr-code.js'
import { Link } from './notice.js'
import type { PageOffer } from '../../sell/paywall/page-data.js'
import { fundsFor } from './purchases.js'
import { text } from './texts.js'

/** Wallet apps with a browser of their own, and the documented links that open a URL there. */
const APPS: readonly (readonly [name: string, link: (url: string, encoded: string) => string])[] = [
  ['MetaMask', (url) => `https://link.metamask.io/dapp/${url.replace(/^https?:\/\//, '')}`],
  ['Coinbase Wallet', (_, url) => `https://go.cb-w.com/dapp?cb_url=${url}`],
  ['Trust Wallet', (_, url) => `https://link.trustwallet.com/open_url?coin_id=60&url=${url}`],
  ['Phantom', (_, url) => `https://phantom.app/ul/browse/${url}?ref=${url}`],
  ['OKX Wallet', (_, url) => OKX + encodeURIComponent(`okx://wallet/dapp/url?dappUrl=${url}`)],
]

/** A web page that passes on what comes after it. */
const OKX = 'https://web3.okx.com/download?deeplink='

/** Wallets for browsers. */
const EXTENSIONS: readonly (readonly [name: string, url: string])[] = [
  ['MetaMask', 'https://metamask.io/download'],
  ['Coinbase Wallet', 'https://www.coinbase.com/wallet/downloads'],
  ['Rabby', 'https://rabby.io'],
]

/** Ways to pay where no wallet was found: on a phone in a wallet app, elsewhere with a phone or a new wallet. */
export function NoWallet({ offer }: { readonly offer: PageOffer }) {
  const url = location.href.replace(/#.*$/, '')
  const funds = fundsFor(offer)
  return (
    <>
      <p class="notice wait" role="status">
        {text('noWallet')}
      </p>
      {isPhone() ? <WalletApps url={url} /> : <WalletsToInstall url={url} />}
      <div class="row">
        <button type="button" class="small" onClick={() => location.reload()}>
          {text('tryAgain')}
        </button>
        {funds !== undefined && <Link to={funds.url} label={funds.label} />}
      </div>
    </>
  )
}

function WalletApps({ url }: { readonly url: string }) {
  return (
    <>
      <p>{text('openIn')}</p>
      <div class="buttons">
        {APPS.map(([name, link]) => (
          <a
            key={name}
            class="button quiet"
            href={link(url, encodeURIComponent(url))}
            rel="noopener noreferrer"
          >
            {name}
          </a>
        ))}
      </div>
    </>
  )
}

function WalletsToInstall({ url }: { readonly url: string }) {
  return (
    <>
      <figure>
        <QrCode text={url} label={text('scan')} />
        <figcaption>{text('scan')}</figcaption>
      </figure>
      <p>
        {text('getWallet')}
        {EXTENSIONS.map(([name, home]) => (
          <Link key={name} to={home} label={name} />
        ))}
      </p>
    </>
  )
}

const isPhone = (): boolean => matchMedia('(pointer: coarse)').matches
