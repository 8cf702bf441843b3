/**
 * Money back: the merchant signs a transfer to the buyer, and the gateway sends it. This shop refunds
 * whoever asks, since a refund can only go to the account that paid.
 */
import express, { type Router } from 'express'
import type { LocalAccount } from 'viem/accounts'

/** Who refunds. */
export interface Refunder {
  /** Root URL of the gateway. */
  readonly url: string
  /** Identify token of the merchant's project. */
  readonly token: string
  /** The account that was paid. */
  readonly merchant: LocalAccount
}

/** `POST /refunds` with `{ transaction }`, of a purchase. */
export function refunds({ url, token, merchant }: Refunder): Router {
  const headers = { 'X-Project-Identify-Token': token, 'Content-Type': 'application/json' }
  const call = async (path: string, body?: object): Promise<Answer> => {
    const method = body === undefined ? 'GET' : 'POST'
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}/api/v2/merchant/settlements${path}`, init)
    return { status: response.status, document: (await response.json()) as Document }
  }
  return express.Router().post('/refunds', express.json(), async (req, res) => {
    const { transaction } = (req.body ?? {}) as { readonly transaction?: unknown }
    const found = await call(`?transaction=${encodeURIComponent(String(transaction))}`)
    const [settlement] = found.document.settlements ?? []
    if (settlement === undefined) return void res.status(404).json({ error: 'No such purchase.' })
    const prepared = await call(`/${settlement.id}/refunds/prepare`)
    const { typedData } = prepared.document
    if (typedData === undefined) return void res.status(prepared.status).json(prepared.document)
    const signature = await merchant.signTypedData(typedData)
    const refund = await call(`/${settlement.id}/refunds`, {
      authorization: typedData.message,
      signature,
    })
    res.status(refund.status).json(refund.document)
  })
}

interface Answer {
  readonly status: number
  readonly document: Document
}

/** The part of the gateway's answers that is read here. */
interface Document {
  readonly settlements?: readonly { readonly id: string }[]
  readonly typedData?: Parameters<LocalAccount['signTypedData']>[0] & { readonly message: object }
}
