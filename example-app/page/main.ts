/** The program of the shop's page. */
import { buy } from './pay.js'
import { show } from './show.js'
import { connect, discover, offerPlayWallet, type Wallet } from './wallet.js'

interface Listed {
  readonly title: string
  readonly about: string
  readonly path: string
  readonly price: string
}

interface Catalogue {
  readonly products: readonly Listed[]
  readonly wallet?: { readonly privateKey: `0x${string}` }
}

const wallets = new Map<string, Wallet>()
const choice = find('wallets') as HTMLSelectElement
const account = find('account')

const response = await fetch('./', { headers: { Accept: 'application/json' } })
const catalogue = (await response.json()) as Catalogue
find('list').append(...catalogue.products.map(cardOf))
discover((wallet) => {
  wallets.set(wallet.info.uuid, wallet)
  choice.add(new Option(wallet.info.name, wallet.info.uuid))
  if (wallets.size === 1) void showAccount()
})
choice.addEventListener('change', () => void showAccount())
if (catalogue.wallet !== undefined) offerPlayWallet(catalogue.wallet.privateKey)

async function showAccount(): Promise<void> {
  const wallet = wallets.get(choice.value)
  if (wallet === undefined) return
  try {
    account.textContent = `Account ${await connect(wallet.provider)}`
  } catch (error) {
    account.textContent = `The wallet refused: ${wordsOf(error)}`
  }
}

/** A product, with its button and the place for what is bought. */
function cardOf({ title, about, path, price }: Listed): HTMLElement {
  const card = document.createElement('li')
  const link = element('a', path)
  link.setAttribute('href', `.${path}`)
  const where = element('p', '')
  where.append(link)
  const button = element('button', `Buy for ${price}`)
  button.className = 'buy'
  button.setAttribute('aria-label', `Buy for ${price}: ${title}`)
  const status = element('p', '')
  status.setAttribute('role', 'status')
  const goods = element('div', '')
  goods.className = 'goods'
  button.addEventListener('click', () => {
    button.disabled = true
    void purchase(path, status, goods).finally(() => {
      button.disabled = false
    })
  })
  card.append(element('h3', title), element('p', about), where, button, status, goods)
  return card
}

async function purchase(path: string, status: HTMLElement, goods: HTMLElement): Promise<void> {
  goods.replaceChildren()
  const tell = (step: string): void => {
    status.textContent = step
  }
  try {
    const wallet = wallets.get(choice.value)
    if (wallet === undefined) throw new Error('There is no wallet to pay with.')
    const bought = await buy(`.${path}`, wallet.provider, tell)
    await show(bought.response, goods)
    tell(`Paid by transaction ${bought.transaction}`)
    goods.append(refundButton(bought.transaction, tell))
  } catch (error) {
    tell(`Not bought: ${wordsOf(error)}`)
  }
}

function refundButton(transaction: string, tell: (step: string) => void): HTMLElement {
  const button = element('button', 'Give it back')
  button.addEventListener('click', () => {
    button.disabled = true
    tell('Refunding …')
    void refund(transaction).then(tell, (error: unknown) => tell(wordsOf(error)))
  })
  return button
}

async function refund(transaction: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const body = JSON.stringify({ transaction })
  const refunded = await fetch('./refunds', { method: 'POST', headers, body })
  const document = (await refunded.json()) as { readonly transaction?: string; error?: string }
  return refunded.ok
    ? `Refunded by transaction ${document.transaction}`
    : `Not refunded: ${document.error ?? refunded.status}`
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  text: string,
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  made.textContent = text
  return made
}

function find(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`The page has no #${id}.`)
  return found
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
