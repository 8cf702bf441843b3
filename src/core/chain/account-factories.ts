/** Contracts that deploy smart accounts, at the same addresses on every network that has them. */
import { MULTICALL3, PERMIT2, PERMIT2_SPENDERS } from '../../shared/protocol/contracts.js'
import { lowerHex } from '../../shared/protocol/hex.js'
import type { Address } from '../../shared/protocol/payment.js'

export const ACCOUNT_FACTORIES = {
  /** Coinbase Smart Wallet 1.1 and 1. */
  coinbase: [
    '0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842',
    '0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a',
  ],
  /** SafeProxyFactory 1.4.1. */
  safe: ['0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67'],
  /** ZeroDev Kernel 3: FactoryStaker, which calls the factories of each version. */
  kernel: ['0xd703aaE79538628d27099B8c4f621bE4CCd142d5'],
  /** Alchemy LightAccountFactory 2.0.0 and 1.1.0. */
  'light-account': [
    '0x0000000000400CdFef5E2714E63d8040b700BC24',
    '0x00004EC70002a32400f8ae005A26081065620D20',
  ],
} as const satisfies Readonly<Record<string, readonly Address[]>>

/** Contracts that are never called as a factory. Lower case. */
export const NEVER_FACTORIES: readonly Address[] = [
  MULTICALL3,
  PERMIT2,
  ...Object.values(PERMIT2_SPENDERS),
].map(lowerHex)
