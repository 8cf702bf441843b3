import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import express from 'express'
import { publicActions } from 'viem'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { walletClient } from '../tools/devnet/clients.js'
import type { Cleanup } from './cleanup.js'
import { openRemoteApi, type RemoteApi } from './remote-shops.js'

/** Opens an unmodified official facilitator. The last relayer of the devnet pays its gas. */
export async function openOfficialFacilitator(devnet: Devnet, toEnd: Cleanup): Promise<RemoteApi> {
  const client = walletClient(devnet.rpcUrl, devnet.relayerKeys.at(-1)!).extend(publicActions)
  const { address } = client.account
  // The client's methods take more than the signer's do, and their types do not meet.
  const signer = toFacilitatorEvmSigner({ ...client, address } as never)
  const facilitator = new x402Facilitator()
    .register('eip155:84532', new ExactEvmScheme(signer))
    .register('eip155:84532', new UptoEvmScheme(signer))
  const api = express.Router()
  api.get('/supported', (_req, res) => void res.json(facilitator.getSupported()))
  for (const call of ['verify', 'settle'] as const)
    api.post(`/${call}`, express.json(), (req, res, next) => {
      const { paymentPayload, paymentRequirements } = req.body
      facilitator[call](paymentPayload, paymentRequirements).then((reply) => res.json(reply), next)
    })
  return openRemoteApi(api, toEnd)
}
