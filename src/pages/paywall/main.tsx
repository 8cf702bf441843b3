/** The program of the paywall's page. */
import { render } from 'preact'
import { App } from './app.js'
import { CopyButton } from './copy-button.js'
import { data } from './data.js'
import { removeOld } from './kept-payment.js'
import { text } from './texts.js'

removeOld()
const place = document.querySelector('#pay')
if (place !== null && data.canRepeat) {
  place.replaceChildren()
  render(<App />, place)
}
for (const element of document.querySelectorAll<HTMLElement>('[data-copy]')) {
  const button = element.appendChild(document.createElement('span'))
  render(<CopyButton text={element.dataset['copy'] ?? ''} of={text('paidTo')} />, button)
}
