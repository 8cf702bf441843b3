/** The program of the paywall's page. */
import { render } from 'preact'
import { App } from './app.js'
import { data } from './data.js'

const place = document.querySelector('#pay')
if (place !== null && data.canRepeat) render(<App />, place)
