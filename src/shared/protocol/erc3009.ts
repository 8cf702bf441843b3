/** ERC-3009 on the wire: the authorization of a payment. */
import { z } from 'zod'
import { parseDocument, type Parsed } from './document.js'
import { address, bytes32, signature, uint256 } from './wire-schemas.js'

/** `payload` of a payment by ERC-3009. Numbers are canonical decimal strings. */
export interface Erc3009Payload {
  readonly signature: string
  readonly authorization: {
    readonly from: string
    readonly to: string
    readonly value: string
    readonly validAfter: string
    readonly validBefore: string
    readonly nonce: string
  }
}

export const erc3009Schema = z.looseObject({
  signature,
  authorization: z.looseObject({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
  }),
}) satisfies z.ZodType<Erc3009Payload>

export const parseErc3009Payload = (value: unknown): Parsed<Erc3009Payload> =>
  parseDocument<Erc3009Payload>(erc3009Schema, value)
