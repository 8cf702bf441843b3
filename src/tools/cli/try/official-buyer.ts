import type * as OfficialEvm from '@x402/evm'
import type * as OfficialFetch from '@x402/fetch'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { privateKeyToAccount } from 'viem/accounts'
import { PAYERS } from '../../devnet/accounts.js'
import { EXIT, type CliContext, type ExitCode } from '../command.js'
import { readSettlement } from '../pay/http.js'

/** Opens the official client as a buyer that prints its steps; `undefined` if the folder does not have it. */
export async function openOfficialBuyer({ cwd, print }: CliContext) {
  const { resolve } = createRequire(join(cwd, 'package.json'))
  const load = (name: string): Promise<unknown> => import(pathToFileURL(resolve(name)).href)
  try {
    const { ExactEvmScheme } = (await load('@x402/evm')) as typeof OfficialEvm
    const { wrapFetchWithPayment, x402Client } = (await load('@x402/fetch')) as typeof OfficialFetch
    const account = privateKeyToAccount(PAYERS[0]!.privateKey)
    const client = new x402Client().register('eip155:84532', new ExactEvmScheme(account))
    client.onAfterPaymentCreation(async ({ selectedRequirements: { amount, network, payTo } }) => {
      print('→ Answer: 402')
      print(`→ Signed: ${amount} units of USDC on ${network}, to ${payTo}`)
    })
    const pay = wrapFetchWithPayment(fetch, client)
    return async (url: string): Promise<ExitCode> => {
      print(`→ GET ${url}`)
      const response = await pay(url)
      print(`→ Answer: ${response.status}`)
      print(`→ Settled, transaction ${String(readSettlement(response)?.['transaction'])}`)
      print(await response.text())
      return response.ok ? EXIT.ok : EXIT.failed
    }
  } catch {
    return undefined
  }
}
