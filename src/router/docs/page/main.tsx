import { render } from 'preact'
import { App } from './app.js'

const root = document.querySelector('#docs')
if (root) render(<App />, root)
