/** A bundle that includes this package: it starts, sells, and says what it cannot show. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** An app that is asked by itself, and prints what it answers. */
const APP = `
import express from 'express'
import { createGateway } from 'express-x402-gateway'
const gateway = createGateway({
  networks: { 'base-sepolia': { rpcUrl: 'http://127.0.0.1:9', relayerKeys: ['0x${'5e'.repeat(32)}'] } },
  projects: [{ id: 'shop', merchant: { payTo: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' } }],
})
const app = express()
app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => res.send('paid'))
app.use(gateway.gatewayRouter())
const server = app.listen(0, '127.0.0.1', async () => {
  const ask = async (path) =>
    (await fetch('http://127.0.0.1:' + server.address().port + path, { headers: { Accept: 'text/html' } })).status
  console.log(JSON.stringify([await ask('/paid'), await ask('/ucp/gateway.md')]))
  server.closeAllConnections()
  server.close()
  await gateway.close()
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

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'x402-bundled-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it.each([
  ['cjs', 'cjs'],
  ['esm', 'mjs'],
] as const)(
  'a bundle in the format %s starts, asks for payment, and says what it lacks',
  async (format, extension) => {
    const file = join(folder, `app.${extension}`)
    await run(process.execPath, ['--input-type=module', '--eval', BUNDLE, format, file], {
      cwd: root,
    })
    // Other bundlers (esbuild, ncc) leave __dirname as it is: an ES module has none.
    const code = await readFile(file, 'utf8')
    await writeFile(file, code.replaceAll('var __dirname = import.meta.dirname;', ''))
    const { stdout, stderr } = await run(process.execPath, [file])
    expect(JSON.parse(stdout)).toEqual([402, 500])
    expect(stderr).toContain('mark express-x402-gateway as external')
    expect(stderr).toContain('Cannot read the UCP specification template')
  },
)
