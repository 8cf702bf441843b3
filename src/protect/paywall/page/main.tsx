/** The program of the paywall's page. */
import { render } from 'preact'
import { App } from './app.js'
import { CopyButton } from './copy-button.js'
import { data } from './data.js'
import { readKept, removeOld } from './kept-payment.js'
import { text } from './texts.js'

removeOld()
const place = document.querySelector('#pay')
const isOffered = data.offers.length > 0
const kept = readKept()
// Of a payment link that is paid, nothing is offered. Its buyer finds the purchase in place of the problem.
if (!isOffered && kept !== undefined) {
  document.querySelector('h1')?.replaceChildren(kept.receipt.title)
  document.querySelector('.problem')?.remove()
}
if (place !== null && data.canRepeat && (isOffered || kept !== undefined)) {
  place.replaceChildren()
  render(<App />, place)
}
for (const element of document.querySelectorAll<HTMLElement>('[data-copy]')) {
  const button = element.appendChild(document.createElement('span'))
  render(<CopyButton text={element.dataset['copy'] ?? ''} of={text('paidTo')} />, button)
}
