import type { Chain } from '../../core/chain/chain.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import type { Address } from '../../shared/protocol/payment.js'
import { fine, findings, type Finding } from './finding.js'

/** Checks that each factory of `allowedFactories` is there. */
export async function checkFactories(
  chain: Pick<Chain, 'getCode' | 'network'>,
  factories: ReadonlySet<Address>,
): Promise<readonly Finding[]> {
  const { name, caip2 } = chain.network
  const found = await Promise.all(
    [...factories].map((factory) => {
      const address = checksumAddress(factory)
      const place = { subject: 'factory', network: caip2, address } as const
      return findings(place, async () => {
        if ((await chain.getCode(address)) !== '0x')
          return [fine(place, `Factory ${address} on ${name} is there.`)]
        const message = `Factory ${address} on ${name} has no code: accounts of it must be deployed before they pay. Correct its address in allowedFactories, or remove it.`
        return [{ ...place, status: 'warning', code: 'factory_missing', message }]
      })
    }),
  )
  return found.flat()
}
