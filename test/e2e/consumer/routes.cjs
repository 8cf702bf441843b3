// A shop in a project of its own: everything comes from what is installed there.
module.exports = function openShop(express, { x402Protect, gatewayRouter }) {
  const app = express()
  app.use(gatewayRouter())
  app.get('/paid', x402Protect('$0.01'), (req, res) => {
    res.json({ paidBy: req.x402?.payer })
  })
  app.get('/throws', x402Protect('$0.01'), () => {
    throw new Error('The handler threw.')
  })
  app.get('/rejects', x402Protect('$0.01'), async () => {
    throw new Error('The handler rejected.')
  })
  app.get('/native', (_req, res) => {
    res.json(Object.keys(require.cache).some((file) => /secp256k1.*\.node$/.test(file)))
  })
  app.use((_error, _req, res, _next) => {
    res.status(500).send('failed')
  })
  // Express 4 does not notice a rejected handler; Node would end the process.
  process.on('unhandledRejection', () => undefined)
  const server = app.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${server.address().port}`)
  })
}
