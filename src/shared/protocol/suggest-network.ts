import { closestName } from './did-you-mean.js'
import { knownNetworks } from './networks.js'

/** Suggests the network that was probably meant; `undefined` if none is close. */
export function suggestNetwork(name: string): string | undefined {
  if (/^\d{1,15}$/.test(name)) return `eip155:${name}`
  return closestName(
    name.replace(/[-_ ]mainnet$/i, ''),
    knownNetworks.map(({ shortName }) => shortName),
  )
}
