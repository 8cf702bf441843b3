export type RpcCall = readonly [method: string, ...params: unknown[]]

interface RpcResponse {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/**
 * Sends several JSON-RPC calls in one HTTP request. The node may run them in any order.
 *
 * Plain `fetch`, because loading viem takes longer than starting the chain.
 *
 * @returns The results, in the order of the calls.
 * @throws Error with the method and the node's message, when one of the calls fails.
 */
export async function sendBatch(url: string, calls: readonly RpcCall[]): Promise<unknown[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(
      calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params })),
    ),
  })
  const answers = (await response.json()) as RpcResponse[]
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  return calls.map(([method], id) => {
    const answer = byId.get(id)
    if (!answer || answer.error) {
      throw new Error(`devnet: ${method}: ${answer?.error?.message ?? 'no answer'}`)
    }
    return answer.result
  })
}
