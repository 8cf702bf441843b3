import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { DEPLOYER, executorOf } from '../../../src/core/chain/executor.js'
import { runCli } from '../../../src/tools/cli/cli.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { askNode, minedCount } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { newNonce } from '../../support/sign-payment.js'

const devnet = useDevnet()
let cwd: string
let proxy: RpcProxy
/** Two relayers of which no other test has an executor. */
let keys: readonly [Hex, Hex]
const addressOf = (key: Hex): Hex => privateKeyToAccount(key).address
const executor = (): Hex => executorOf(keys.map(addressOf)).address

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'x402-executor-'))
  proxy = await startRpcProxy(devnet.rpcUrl)
  keys = [newNonce(), newNonce()]
  await fund(keys[0])
})
afterEach(async () => {
  await proxy.close()
  await rm(cwd, { recursive: true })
})

const fund = (key: Hex) => askNode(devnet, 'anvil_setBalance', addressOf(key), '0xde0b6b3a7640000')
const codeAt = (address: Hex) => askNode<Hex>(devnet, 'eth_getCode', address, 'latest')

/** Runs a command in a folder with a configuration. */
async function run(command: string, network: object = { executor: true }, env = {}) {
  const config = {
    networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: keys, ...network } },
    projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address } }],
  }
  await writeFile(join(cwd, 'gateway.config.json'), JSON.stringify(config), { mode: 0o600 })
  const printed: string[] = []
  const complained: string[] = []
  const code = await runCli(command.split(' '), {
    ...{ env, cwd, signal: new AbortController().signal },
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
    write: async () => undefined,
  })
  const output = [...printed, ...complained].join('\n')
  for (const key of keys) expect(output).not.toContain(key.slice(2))
  return { code, printed: printed.join('\n'), complained: complained.join('\n') }
}

/** What `doctor` says of executors. */
async function doctor(network?: object): Promise<readonly string[]> {
  const { printed } = await run('doctor --json', network)
  const { findings } = JSON.parse(printed) as { findings: { subject: string; code: string }[] }
  return findings.filter(({ subject }) => subject === 'executor').map(({ code }) => code)
}

describe('deploy-executor', () => {
  it('says what it costs, deploys once, and says that it is there the next time', async () => {
    expect(await doctor()).toEqual(['executor_missing'])
    const first = await run('deploy-executor')
    expect(first).toMatchObject({ code: 0, complained: '' })
    expect(first.printed).toMatch(/that takes \d+ gas, about 0\.\d+ ETH/)
    expect(first.printed).toContain(`executor ${executor()} is deployed, for`)
    expect(await codeAt(executor())).toBe(executorOf(keys.map(addressOf)).code)
    expect(await doctor()).toEqual(['ok'])

    const second = await run('deploy-executor')
    expect(second).toMatchObject({ code: 0, complained: '' })
    expect(second.printed).toBe(`Base Sepolia: executor ${executor()} is there already.`)
    expect(await minedCount(devnet, addressOf(keys[0]))).toBe(1)
    // No ledger was needed, and none was made.
    expect(existsSync(join(cwd, 'data'))).toBe(false)
  })

  it('takes its account nonce from the ledger, as gateways beside it do', async () => {
    const file = join(cwd, 'ledger.db')
    await openSqliteLedger(file).close()
    expect(await run('deploy-executor --ledger ledger.db')).toMatchObject({ code: 0 })
    const ledger = openSqliteLedger(file)
    const account = { chainId: 84532, relayer: addressOf(keys[0]) }
    const [sent] = await ledger.relayers.listTransactions(account, 0)
    await ledger.close()
    expect(sent).toMatchObject({ accountNonce: 0 })
  })

  it('finds that a changed list of relayers is another executor', async () => {
    await run('deploy-executor')
    const before = executor()
    keys = [keys[1], newNonce()]
    await fund(keys[0])
    expect(executor()).not.toBe(before)
    expect(await doctor()).toEqual(['executor_missing'])
    await run('deploy-executor')
    expect(await doctor()).toEqual(['ok'])
  })

  it('goes by X402_EXECUTOR, and says what to set without it', async () => {
    const off = await run('deploy-executor', {})
    expect(off).toMatchObject({ code: 1, printed: '' })
    expect(off.complained).toContain('"executor": true')
    expect(await run('deploy-executor', {}, { X402_EXECUTOR: 'true' })).toMatchObject({ code: 0 })
  })

  it('sends nothing where another contract is at the address', async () => {
    await askNode(devnet, 'anvil_setCode', executor(), '0x00')
    const { code, complained } = await run('deploy-executor')
    expect(code).toBe(1)
    expect(complained).toContain(`${executor()} is another contract`)
    expect(await doctor()).toEqual(['executor_foreign'])
    expect(await minedCount(devnet, addressOf(keys[0]))).toBe(0)
  })

  it.each([
    ['there is none', '0x', 'no deterministic deployer'],
    ['it deploys nothing', '0x00', 'would not deploy at'],
    ['it deploys elsewhere', '0x602a60005260206000f3', 'would not deploy at'],
  ])('sends nothing where the deployer is not right: %s', async (_what, deployer, words) => {
    const right = await codeAt(DEPLOYER)
    await askNode(devnet, 'anvil_setCode', DEPLOYER, deployer)
    try {
      const { code, complained } = await run('deploy-executor')
      expect(code).toBe(1)
      expect(complained).toContain(words)
    } finally {
      await askNode(devnet, 'anvil_setCode', DEPLOYER, right)
    }
    expect(await minedCount(devnet, addressOf(keys[0]))).toBe(0)
  })

  it('names the relayers that have no money', async () => {
    await askNode(devnet, 'anvil_setBalance', addressOf(keys[0]), '0x0')
    const { code, complained } = await run('deploy-executor')
    expect(code).toBe(1)
    expect(complained).toContain('out of gas money')
    for (const key of keys) expect(complained).toContain(addressOf(key))
  })

  it('says that the node is down', async () => {
    proxy.fault = () => ({ kind: 'drop_request' })
    const { code, complained } = await run('deploy-executor')
    expect(code).toBe(1)
    expect(complained).toMatch(/^Base Sepolia: /)
    expect(complained).not.toContain(proxy.url)
  })
})
