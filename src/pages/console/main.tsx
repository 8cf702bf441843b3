import { render } from 'preact'
import { App } from './app.js'

const place = document.querySelector('#console')
if (place) render(<App />, place)
