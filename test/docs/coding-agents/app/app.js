import express from 'express'

const QUOTES = new Map([
  ['ACME', 12.5],
  ['INITECH', 7.25],
])

export const app = express()
app.use(express.json())

app.get('/health', (_req, res) => {
  res.json({ status: 'ok' })
})

app.get('/quotes/:symbol', (req, res) => {
  const price = QUOTES.get(req.params.symbol)
  if (price === undefined) return void res.status(404).json({ error: 'No such symbol.' })
  res.json({ symbol: req.params.symbol, price })
})

app.post('/shout', (req, res) => {
  const { text } = req.body ?? {}
  if (typeof text !== 'string' || text === '')
    return void res.status(400).json({ error: 'text is missing.' })
  res.json({ text: text.toUpperCase() })
})
