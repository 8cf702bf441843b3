/** A bundle that includes this package: it starts, sells, and says what it cannot show. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { startProgram } from '../support/program.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

const APP = `
import express from 'express'
import { createGateway } from 'express-x402-gateway'
const { RPC_URL, RELAYER_KEY, PAY_TO } = process.env
const gateway = createGateway({
  networks: { 'base-sepolia': { rpcUrl: RPC_URL, relayerKeys: [RELAYER_KEY] } },
  projects: [{ id: 'shop', merchant: { payTo: PAY_TO } }],
})
const app = express()
app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => res.send('paid'))
app.use(gateway.gatewayRouter())
const server = app.listen(0, '127.0.0.1', () => {
  console.log('http://127.0.0.1:' + server.address().port)
})
`

/** Bundles the app, in a process of its own: rolldown does not know the objects of Jest's. */
const BUNDLE = `
import { build } from 'rolldown'
const [format, file] = process.argv.slice(1)
const entry = process.cwd() + '/bundled-app.mjs'
await build({
  input: entry,
  platform: 'node',
  plugins: [
    {
      name: 'app',
      resolveId: (id) => (id === entry ? id : null),
      load: (id) => (id === entry ? ${JSON.stringify(APP)} : null),
    },
  ],
  output: { file, format, codeSplitting: false },
})
`

const devnet = useDevnet()

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'x402-bundled-'))
  // A binary cannot be bundled, and Node before 24 needs one.
  const native = 'node_modules/@photostructure/sqlite'
  await mkdir(dirname(join(folder, native)), { recursive: true })
  await symlink(join(root, native), join(folder, native), 'junction')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Pretends to be a Node that is too old. */
const OLDER = "Object.defineProperty(process.versions, 'node', { value: '20.18.0' })"

it.each([
  ['cjs', 'cjs', 0],
  ['esm', 'mjs', 1],
] as const)(
  'a bundle in the format %s sells without node_modules, and says what it lacks',
  async (format, extension, payer) => {
    const file = join(folder, `app.${extension}`)
    await run(process.execPath, ['--input-type=module', '--eval', BUNDLE, format, file], {
      cwd: root,
    })
    // Other bundlers (esbuild, ncc) leave __dirname as it is: an ES module has none.
    const code = await readFile(file, 'utf8')
    await writeFile(file, code.replaceAll('var __dirname = import.meta.dirname;', ''))
    await writeFile(join(folder, 'older.cjs'), OLDER)
    await expect(
      run(process.execPath, ['--require', './older.cjs', file], { cwd: folder }),
    ).rejects.toMatchObject({ stderr: expect.stringContaining('needs Node 20.19 or newer') })
    const shop = startProgram([file], {
      cwd: folder,
      env: {
        RPC_URL: devnet.rpcUrl,
        RELAYER_KEY: devnet.relayerKeys[0],
        PAY_TO: devnet.merchant.address,
      },
    })
    try {
      const url = await shop.prints(/^(http\S+)\n/m)
      const page = await fetch(`${url}/paid`, { headers: { Accept: 'text/html' } })
      expect(page.status).toBe(402)
      const offer = paymentRequiredOf(page).accepts[0]!
      const payment = await signPayment(devnet.payers[payer]!, offer)
      const bought = await fetch(`${url}/paid`, { headers: paymentHeader(payment) })
      expect([bought.status, await bought.text()]).toEqual([200, 'paid'])
      expect((await fetch(`${url}/ucp/gateway.md`)).status).toBe(500)
      await shop.prints(/(mark express-x402-gateway as external)/)
      await shop.prints(/(Cannot read the UCP specification template)/)
    } finally {
      await shop.end('SIGKILL')
    }
  },
)
