import { ownPackage } from '../../shared/http/own-package.cjs'
import { takesErc3009 } from '../../shared/money/assets.js'
import { formatNetwork } from '../../shared/protocol/networks.js'
import type { AdminContext } from '../admin/context.js'
import { explorerUrl } from '../admin/explorers.js'
import { scopesOfRole, scopesOfToken, type Admin } from '../../core/merchants/access.js'
import type { TokenHolder } from '../../core/merchants/project-directory.js'
import type { OpenSession } from './console-sessions.js'

/** A session as the page gets it: who is signed in, until when, and what the page needs to show payments. */
export function sessionDocument(
  { networks, networkNames }: Pick<AdminContext, 'networks' | 'networkNames'>,
  session: OpenSession,
) {
  const { role, expiresAt } = session
  return {
    role,
    ...(session.role === 'admin' ? adminMembers(session.admin) : merchantMembers(session.holder)),
    expiresAt: new Date(expiresAt).toISOString(),
    version: ownPackage.version ?? 'unknown',
    networks: networks.map(({ network, assets }) => {
      const explorer = explorerUrl(network)
      return {
        network: formatNetwork(network, networkNames),
        chainId: network.chainId,
        name: network.name,
        testnet: network.testnet,
        ...(explorer !== undefined && { explorerUrl: explorer }),
        assets: assets.map((asset) => {
          const { address, symbol, decimals, currency } = asset
          const refundable = takesErc3009(asset)
          return {
            address,
            symbol,
            decimals,
            ...(currency !== undefined && { currency }),
            refundable,
          }
        }),
      }
    }),
  }
}

function adminMembers({ name, role }: Admin) {
  return { name, adminRole: role, scopes: scopesOfRole(role) }
}

function merchantMembers({ project: { id, merchant }, scopes }: TokenHolder) {
  return { name: merchant?.name ?? id, project: id, scopes: scopesOfToken(scopes) }
}
