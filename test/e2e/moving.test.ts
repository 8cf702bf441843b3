/** The two programs of example-app/docs/moving.md: they sell the same on the same terms. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { payingFetch } from '../../example-app/buy.js'
import { page, ROOT } from '../docs/documents.js'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { followStep } from '../support/follow-steps.js'
import { freePort } from '../support/free-port.js'
import { openOfficialFacilitator } from '../support/official-facilitator.js'
import { startProgram } from '../support/program.js'
import { paymentRequiredOf } from '../support/shop.js'
import { until } from '../support/until.js'

const devnet = useDevnet()
const toEnd = useCleanup(afterAll)
const project = temporaryFolder(toEnd)

let facilitator: string
beforeAll(async () => {
  facilitator = (await openOfficialFacilitator(devnet, toEnd)).url
  const packages = { 'express-x402-gateway': ROOT, express: '', '@x402': '' }
  for (const [name, path] of Object.entries(packages)) {
    await mkdir(dirname(join(project, 'node_modules', name)), { recursive: true })
    await symlink(path || join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
  }
})

/** Runs a program of the page, and buys from it. @returns What it offered, and what it sold. */
async function buyFrom(file: string, payer: number, env: Readonly<Record<string, string>>) {
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}/weather`
  const adapt = (text: string) =>
    text.replaceAll('4021', port).replaceAll('https://www.x402.org/facilitator', facilitator)
  const block = page('moving.md').blocks.find(({ meta }) => meta === `file=${file}`)!
  await followStep(block, { project, tarball: '', adapt, paidUrl: url })
  const program = startProgram([file], {
    cwd: project,
    env: { X402_PAY_TO: devnet.merchant.address, ...env },
  })
  toEnd.push(() => program.end('SIGKILL'))
  await until(() =>
    fetch(url).then(
      ({ status }) => status === 402,
      () => false,
    ),
  )
  const required = paymentRequiredOf(await fetch(url))
  const before = await balanceOf(devnet, devnet.merchant.address)
  const response = await payingFetch(devnet.payers[payer]!.privateKey)(url)
  const sold: unknown = await response.json()
  return { required, sold, earned: (await balanceOf(devnet, devnet.merchant.address)) - before }
}

describe('the programs before and after the move', () => {
  it('make the same offer, and sell the same for the same money', async () => {
    const before = await buyFrom('before.mjs', 0, {})
    const chain = { X402_RPC_URL: devnet.rpcUrl, X402_RELAYER_KEY: devnet.relayerKeys[0]! }
    const withRelayer = await buyFrom('after.mjs', 1, { X402_NETWORK: 'base-sepolia', ...chain })
    const elsewhere = { X402_NETWORK: 'base-sepolia', X402_FACILITATOR_URL: facilitator }
    const withFacilitator = await buyFrom('after.mjs', 2, elsewhere)
    const [{ scheme, network, amount, asset, payTo } = {} as never] = before.required.accepts
    for (const after of [withRelayer, withFacilitator]) {
      expect(after.required.accepts[0]).toMatchObject({ scheme, network, amount, asset, payTo })
      expect(after.required.resource.description).toBe(before.required.resource.description)
      expect(after.sold).toEqual(before.sold)
      expect(after.earned).toBe(10_000n)
    }
    expect(before.earned).toBe(10_000n)
  })
})
