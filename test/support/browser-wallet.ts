/** A wallet of the browser, as EIP-6963 announces it, which signs with a key of the devnet. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { DevnetAccount } from '../../src/tools/devnet/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'

/** What a wallet was asked. */
export interface TestWallet {
  readonly asked: readonly string[]
  /** The chains that it was asked to add (EIP-3085). */
  readonly added: readonly unknown[]
  /** What was signed, as its JSON. */
  readonly signed: readonly string[]
  /** What it does when asked to sign; `'wait'` is its owner who hesitates. @defaultValue 'sign' */
  behaviour: 'sign' | 'decline' | 'wait'
  /** What it does when asked to connect: the answer to an earlier request is still open, or it is locked. @defaultValue 'share' */
  connecting: 'share' | 'busy' | 'locked'
  /**
   * What it does when asked to send a transaction: one that reverts, or one that nobody ever sees, or another in
   * its place. @defaultValue 'send'
   */
  sending: 'send' | 'decline' | 'revert' | 'lose' | 'replace'
}

/** How a wallet begins, and what it can. */
export interface WalletOptions {
  readonly name?: string
  /** Whether it announces itself (EIP-6963), or is only `window.ethereum`. @defaultValue true */
  readonly isAnnounced?: boolean
  /** Chains that it switches to without adding them. @defaultValue all */
  readonly knows?: readonly string[]
  /** Whether it adds chains. @defaultValue false */
  readonly addsChains?: boolean
  /** Node that it asks for balances. @defaultValue none: it cannot tell them */
  readonly rpcUrl?: string | undefined
  /** Account that the buyer changes to when the wallet asks for one. @defaultValue it cannot ask */
  readonly other?: DevnetAccount
}

/** Puts a wallet into every page that the tab loads from now on. It begins on another chain. */
export async function addWallet(
  page: Page,
  account: DevnetAccount,
  options: WalletOptions = {},
): Promise<TestWallet> {
  const { name = 'Test Wallet', isAnnounced = true } = options
  const wallet: WalletState = { asked: [], added: [], signed: [], ...BEHAVIOUR }
  const answers = answersOf(account, options, wallet)
  const handle = `askWallet${name.replaceAll(/\W/g, '')}`
  await page.exposeFunction(handle, async (method: string, params: readonly unknown[]) => {
    wallet.asked.push(method)
    const answer = answers[method]
    if (answer === undefined) return { error: { code: -32601, message: `no method ${method}` } }
    try {
      return { result: await answer(params) }
    } catch (error) {
      const { code, message } = error as { code?: number; message: string }
      return { error: { code: code ?? -32603, message } }
    }
  })
  await page.addInitScript(`{
    const provider = {
      async request({ method, params = [] }) {
        const { result, error } = await ${handle}(method, params)
        if (error) throw Object.assign(new Error(error.message), error)
        return result
      },
    }
    const info = { uuid: '${handle}', name: '${name}', rdns: 'example.wallet', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>' }
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
    if (${isAnnounced}) {
      addEventListener('eip6963:requestProvider', announce)
      announce()
    } else window.ethereum = provider
  }`)
  return wallet
}

const BEHAVIOUR = { behaviour: 'sign', connecting: 'share', sending: 'send' } as const

type Answers = Readonly<Record<string, (params: readonly unknown[]) => unknown>>

interface WalletState extends TestWallet {
  readonly asked: string[]
  readonly added: unknown[]
  readonly signed: string[]
}

function answersOf(account: DevnetAccount, options: WalletOptions, wallet: WalletState): Answers {
  let used = account
  const knows = options.knows === undefined ? undefined : [...options.knows]
  let chainId = '0x1'
  let isConnected = false
  const askNode = async (method: string, params: readonly unknown[]) => {
    if (options.rpcUrl === undefined) throw failure(-32601, 'no node')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(options.rpcUrl, { method: 'POST', headers, body })
    return ((await response.json()) as { result: unknown }).result
  }
  const addresses = () => (isConnected ? [used.address.toLowerCase()] : [])
  return {
    eth_accounts: addresses,
    eth_requestAccounts: () => {
      if (wallet.connecting === 'busy')
        throw failure(-32002, 'Already processing eth_requestAccounts. Please wait.')
      if (wallet.connecting === 'locked') throw failure(4100, 'The wallet is locked.')
      isConnected = true
      return addresses()
    },
    wallet_requestPermissions: () => {
      if (options.other === undefined) throw failure(-32601, 'no method')
      used = options.other
      return []
    },
    eth_chainId: () => chainId,
    wallet_switchEthereumChain: ([wanted]) => {
      const { chainId: other } = wanted as { chainId: string }
      if (knows?.includes(other) === false) throw failure(4902, 'Unrecognized chain ID.')
      chainId = other
      return null
    },
    wallet_addEthereumChain: ([added]) => {
      wallet.added.push(added)
      if (options.addsChains !== true) throw failure(4001, 'User rejected the request.')
      knows?.push((added as { chainId: string }).chainId)
      return null
    },
    eth_call: (params) => askNode('eth_call', params),
    eth_getBalance: (params) => askNode('eth_getBalance', params),
    eth_estimateGas: (params) => askNode('eth_estimateGas', params),
    eth_gasPrice: (params) => askNode('eth_gasPrice', params),
    eth_getTransactionReceipt: (params) => askNode('eth_getTransactionReceipt', params),
    eth_sendTransaction: async ([asked]) => {
      const { from, to, data } = asked as Record<'from' | 'to' | 'data', Hex>
      if (wallet.sending === 'decline') throw failure(4001, 'User rejected the request.')
      if (from.toLowerCase() !== used.address.toLowerCase()) throw new Error('another account')
      if (wallet.sending === 'lose') return NOWHERE
      const sender = createWalletClient({
        account: privateKeyToAccount(used.privateKey),
        transport: http(options.rpcUrl),
      })
      // With a limit of gas, the node does not refuse what reverts.
      const input = wallet.sending === 'revert' ? '0xdeadbeef' : data
      const hash = await sender.sendTransaction({ to, data: input, gas: 100_000n, chain: null })
      return wallet.sending === 'replace' ? NOWHERE : hash
    },
    eth_signTypedData_v4: async ([signer, text]) => {
      while (wallet.behaviour === 'wait') await sleep(5)
      if (wallet.behaviour === 'decline') throw failure(4001, 'User rejected the request.')
      if (String(signer).toLowerCase() !== used.address.toLowerCase())
        throw new Error('another account')
      wallet.signed.push(String(text))
      const key = privateKeyToAccount(used.privateKey)
      return key.signTypedData(JSON.parse(String(text)) as Parameters<typeof key.signTypedData>[0])
    },
  }
}

/** Hash of a transaction that is on no chain. */
const NOWHERE = `0x${'ab'.repeat(32)}`

function failure(code: number, message: string): Error {
  return Object.assign(new Error(message), { code })
}
