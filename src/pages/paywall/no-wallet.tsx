import { QrCode } from '../browser/qr-code.js'
import { Link } from './notice.js'
import type { PageOffer } from '../../sell/paywall/page-data.js'
import { fundsFor } from './purchases.js'
import { text } from './texts.js'

/** Link into OKX Wallet, which its web page passes on. */
const OKX = encodeURIComponent('okx://wallet/dapp/url?dappUrl=')

/** Wallet apps with a browser of their own. Each link is the documented one that opens a URL there, given it encoded. */
const APPS: readonly (readonly [name: string, link: (url: string) => string])[] = [
  // The rest of the path is the URL as it is, without its scheme.
  [
    'MetaMask',
    (url) => `https://link.metamask.io/dapp/${decodeURIComponent(url).replace(/^https?:\/\//, '')}`,
  ],
  ['Coinbase Wallet', (url) => `https://go.cb-w.com/dapp?cb_url=${url}`],
  ['Trust Wallet', (url) => `https://link.trustwallet.com/open_url?coin_id=60&url=${url}`],
  ['Phantom', (url) => `https://phantom.app/ul/browse/${url}?ref=${url}`],
  [
    'OKX Wallet',
    (url) => `https://web3.okx.com/download?deeplink=${OKX}${encodeURIComponent(url)}`,
  ],
]

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
            href={link(encodeURIComponent(url))}
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
