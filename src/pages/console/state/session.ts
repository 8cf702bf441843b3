import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionDocument, SessionNetwork, TokenAmount } from '../api/documents.js'

export const SessionContext = createContext<SessionDocument | undefined>(undefined)

/** The session; only for views behind the sign-in. */
export function useSession(): SessionDocument {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('There is no session.')
  return session
}

/** The network of a settlement, if the gateway still has it. */
export function findNetwork(
  { networks }: SessionDocument,
  network: string,
): SessionNetwork | undefined {
  return networks.find((one) => one.network === network || `eip155:${one.chainId}` === network)
}

/** The token of a settlement, if the gateway still has it. */
export function findAsset(
  session: SessionDocument,
  { network, asset }: Pick<TokenAmount, 'network' | 'asset'>,
): SessionNetwork['assets'][number] | undefined {
  return findNetwork(session, network)?.assets.find(
    ({ address }) => address.toLowerCase() === asset.toLowerCase(),
  )
}

/** A page of the network's explorer. */
export function explorerLink(
  session: SessionDocument,
  network: string,
  path: `tx/${string}` | `address/${string}`,
): string | undefined {
  const root = findNetwork(session, network)?.explorerUrl
  return root === undefined ? undefined : `${root.replace(/\/$/, '')}/${path}`
}
