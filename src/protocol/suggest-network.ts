import { closestName } from './did-you-mean.js'
import { knownNetworks } from './networks.js'

/** The network that was probably meant by a name that is none; `undefined` where none is close. */
export function suggestNetwork(name: string): string | undefined {
  if (/^\d{1,15}$/.test(name)) return `eip155:${name}`
  return closestName(
    name.replace(/[-_ ]mainnet$/i, ''),
    knownNetworks.map(({ shortName }) => shortName),
  )
}
