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
export function refunds(refunder: Refunder): Router {
  return express.Router().post('/refunds', express.json(), (req, res, next) => {
    const { transaction } = (req.body ?? {}) as { readonly transaction?: unknown }
    giveBack(refunder, String(transaction))
      .then(({ status, document }) => res.status(status).json(document))
      .catch(next)
  })
}

async function giveBack(refunder: Refunder, transaction: string): Promise<Answer> {
  const found = await call(refunder, `?transaction=${encodeURIComponent(transaction)}`)
  const [settlement] = found.document.settlements ?? []
  if (settlement === undefined)
    return { status: 404, document: { error: 'The shop was not paid by that transaction.' } }
  const prepared = await call(refunder, `/${settlement.id}/refunds/prepare`)
  const { typedData } = prepared.document
  if (typedData === undefined) return prepared
  const signature = await refunder.merchant.signTypedData(typedData)
  const signed = { authorization: typedData.message, signature }
  return call(refunder, `/${settlement.id}/refunds`, signed)
}

/** Asks the gateway's API. */
async function call({ url, token }: Refunder, path: string, body?: object): Promise<Answer> {
  const headers = { 'X-Project-Identify-Token': token, 'Content-Type': 'application/json' }
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${url}/api/v2/merchant/settlements${path}`, { headers, ...init })
  return { status: response.status, document: (await response.json()) as Document }
}

interface Answer {
  readonly status: number
  readonly document: Document
}

/** The part of the gateway's answers that is read here. */
interface Document {
  readonly error?: string
  readonly settlements?: readonly { readonly id: string }[]
  readonly typedData?: Parameters<LocalAccount['signTypedData']>[0] & { readonly message: object }
}
