/** `express-x402-gateway try` from the packed package, in a folder that has nothing else. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { install, pack, ROOT } from '../support/packed.js'
import { startProgram, type Program } from '../support/program.js'
import { openTab } from '../support/browser.js'
import { useBrowser, withBrowser } from '../support/use-browser.js'

const folder = temporaryFolder(useCleanup(afterAll))
const project = join(folder, 'empty')
const browser = useBrowser()
beforeAll(async () => {
  const tarball = await pack(folder)
  await mkdir(project)
  await install(project, [tarball, 'express@5'])
})

const running: Program[] = []
afterEach(async () => {
  for (const program of running.splice(0)) await program.end('SIGKILL')
})

/** Runs the command line of the project. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const bin = 'node_modules/express-x402-gateway/dist/esm/tools/cli/bin.js'
  const program = startProgram([bin, ...args], { cwd: project, env })
  running.push(program)
  return program
}

/** Puts a package of this repository into the project. */
async function link(name: string): Promise<void> {
  const path = join(project, 'node_modules', name)
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { recursive: true, force: true })
  await symlink(join(ROOT, 'node_modules', name), path, 'junction')
}

describe('npx express-x402-gateway try', () => {
  it('says what to install where anvil is missing', async () => {
    const command = start(['try'], { PATH: dirname(process.execPath) })
    expect(await command.exitCode()).toBe(1)
    expect(command.output()).toContain('npm install --save-dev @foundry-rs/anvil')
  })

  it('shows a purchase, sells at the links that it prints, and ends with Ctrl-C', async () => {
    await link('@foundry-rs/anvil')
    const command = start(['try'])
    const page = await command.prints(/Browser +(http\S+)/)
    const token = await command.prints(/token: (\S+)/)
    const lines = command.output().split('\n')
    for (const line of [
      /^Chain {2}http:\S+ \(anvil, with play money\)$/,
      /^Shop {3}http:\S+ sells \/weather for \$0\.01$/,
      /^Buyer {2}the command pay; .*npm install @x402\/fetch @x402\/evm$/,
      /^→ Answer: 402$/,
      /^→ Offer chosen: 0\.01 USDC on Base Sepolia, to 0x\w{40}$/,
      /^→ Signing TransferWithAuthorization of 0\.01 USDC$/,
      /^→ Answer: 200$/,
      /^→ Settled on eip155:84532, transaction 0x[0-9a-f]{64}$/,
      /^\{"city":"Berlin","forecast":"sunny"\}$/,
      /^The seller now has 0\.01 USDC\.$/,
    ])
      expect(lines).toContainEqual(expect.stringMatching(line))

    const again = start(['pay', page, '--devnet'])
    expect(await again.exitCode()).toBe(0)
    expect(again.output()).toContain('"forecast":"sunny"')
    await command.prints(/(Sold to 0x\w{40}: 0x[0-9a-f]{64})/)

    const { origin } = new URL(page)
    const get = (path: string, headers = {}) => fetch(origin + path, { headers })
    expect((await get('/console/')).status).toBe(200)
    const asOwner = { Authorization: `Bearer ${token}` }
    expect((await get('/api/v2/admin/projects', asOwner)).status).toBe(200)
    expect((await get('/api/v2/docs')).status).toBe(200)

    expect(await command.end('SIGINT')).toBe(0)
    await expect(fetch(page)).rejects.toThrow('fetch failed')
  })

  it('buys with the official client where it is installed, beside another shop, and ends with --once', async () => {
    await link('@foundry-rs/anvil')
    await link('@x402')
    await start(['try']).prints(/(Ctrl-C)/)
    const command = start(['try', '--once'])
    expect(await command.exitCode()).toBe(0)
    expect(command.output()).toContain(
      'Port 4021 cannot be used (EADDRINUSE): the shop takes another one.',
    )
    expect(command.output()).toContain('the official client, @x402/fetch')
    expect(command.output()).toMatch(/^→ Settled, transaction 0x[0-9a-f]{64}$/m)
    expect(command.output()).toMatch(/^The seller now has 0\.01 USDC\.$/m)
  })
})

withBrowser('the payment page of try', () => {
  it('pays with the wallet that it brings', async () => {
    await link('@foundry-rs/anvil')
    const command = start(['try'])
    const address = await command.prints(/Browser +(http\S+)/)
    const { page, complaints } = await openTab(browser, { expected: /status of 402/ })
    await page.goto(address)
    await page.getByRole('button', { name: /Play-money wallet/ }).click()
    await page.getByText('"forecast": "sunny"').waitFor()
    await command.prints(/(Sold to 0x\w{40}: 0x[0-9a-f]{64})/)
    expect(complaints).toEqual([])
  })
})
