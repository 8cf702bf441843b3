import type { RequestHandler, Response } from 'express'
import { signTypedData } from '../../../shared/crypto/sign-typed-data.js'
import type { TypedData } from '../../../shared/protocol/typed-data.js'
import { PAYERS } from '../../devnet/accounts.js'
import type { Devnet } from '../../devnet/index.js'
import { sendBatch } from '../../devnet/send-batch.js'

const { address, privateKey } = PAYERS[1]!

/** Announces a wallet (EIP-6963) for which the server answers. */
const SCRIPT = `{
  const request = async (asked) => {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(asked) }
    const { result, error } = await (await fetch('/wallet', init)).json()
    if (error) throw Object.assign(new Error(error.message), error)
    return result
  }
  const info = { uuid: 'play', name: 'Play-money wallet', rdns: 'localhost.play', icon: 'data:,' }
  const detail = Object.freeze({ info, provider: { request } })
  addEventListener('eip6963:requestProvider', () =>
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail })))
}`

/** Puts the wallet into the payment page, with the nonce of its content security policy. */
export const offerPlayWallet: RequestHandler = (_req, res, next) => {
  const end = res.end.bind(res) as (...given: unknown[]) => Response
  res.end = (page?: unknown, ...rest: unknown[]) => {
    const [, nonce] = /'nonce-(.+?)'/.exec(String(res.get('Content-Security-Policy'))) ?? []
    if (typeof page !== 'string' || nonce === undefined) return end(page, ...rest)
    return end(page.replace('</head>', `<script nonce="${nonce}">${SCRIPT}</script>$&`), ...rest)
  }
  next()
}

/** What the payment page asks a node. Nothing else reaches the chain: a page of another site may find this shop, too. */
const PASSED = /^eth_(blockNumber|call|chainId|gasPrice|getBalance|getTransactionReceipt)$/

/** Answers for the wallet. It signs everything, with a key that everybody knows. */
export function answerPlayWallet({ rpcUrl }: Devnet): RequestHandler {
  const answer = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    if (method === 'eth_accounts' || method === 'eth_requestAccounts') return [address]
    if (method === 'eth_signTypedData_v4')
      return signTypedData(JSON.parse(String(params[1])) as TypedData, privateKey)
    if (!PASSED.test(method)) throw new Error(`${method} is not for this wallet.`)
    return (await sendBatch(rpcUrl, [[method, ...params]]))[0]
  }
  return ({ body }, res) => {
    const { method = '', params = [] } = (body ?? {}) as { method?: string; params?: unknown[] }
    answer(method, params).then(
      (result) => res.json({ result }),
      ({ message }: Error) => res.json({ error: { code: 4200, message } }),
    )
  }
}
