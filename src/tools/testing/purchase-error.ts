/**
 * A purchase with another outcome than the test expects.
 *
 * @example
 * ```ts
 * import type { PurchaseError, TestShop } from 'express-x402-gateway/testing'
 *
 * async function reasonOf(shop: TestShop): Promise<string | undefined> {
 *   shop.failNext('insufficient_funds')
 *   return shop.buy('/report').then(
 *     () => undefined,
 *     (error: PurchaseError) => error.reason,
 *   )
 * }
 * ```
 */
export class PurchaseError extends Error {
  /** Name of the class. */
  override readonly name = 'PurchaseError'
  /** The HTTP status of the response. */
  readonly status: number
  /** Why the payment was refused, e.g. `insufficient_funds`; absent if the response does not say. */
  readonly reason: string | undefined

  /**
   * @param message - What happened, with the start of the response's body.
   * @param outcome - Status and reason of the response.
   */
  constructor(
    message: string,
    { status, reason }: { readonly status: number; readonly reason?: string | undefined },
  ) {
    super(message)
    this.status = status
    this.reason = reason
  }
}
