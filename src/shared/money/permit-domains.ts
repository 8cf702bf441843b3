import type { Asset, DomainName } from './assets.js'

/** Tokens that take approvals by signature (EIP-2612), as their contracts have said. */
export class PermitDomains {
  readonly #byToken = new Map<string, DomainName>()
  #version = 0

  /** How often one was found: offers that were written before lack it. */
  get version(): number {
    return this.#version
  }

  find(asset: Asset): DomainName | undefined {
    return this.#byToken.get(keyOf(asset))
  }

  note(asset: Asset, domain: DomainName): void {
    this.#byToken.set(keyOf(asset), domain)
    this.#version++
  }
}

const keyOf = ({ network, address }: Asset): string => `${network.chainId}:${address.toLowerCase()}`
