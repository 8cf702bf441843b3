import { ConfigError } from '../../shared/errors.js'
import { onAbort } from '../../shared/http/on-abort.js'
import { MAX_STORED_BYTES } from '../../ledger/once/store.js'
import { keepCharged, type AuthorizationFlowContext } from '../flow/authorization-flow.js'
import type { Exit } from '../flow/exits.js'
import { deliver, give, releaseUnpaid, reopen, settle, undeliver } from '../flow/payment-attempt.js'
import type { Delivery, Reserved } from '../flow/payment-attempt.js'
import { openWaiver } from '../flow/waiver.js'
import type { HeldLease } from '../hold/held-budget.js'
import { serializeResponse, serializeUnpaid } from '../respond/stored-response.js'
import { refuseCharge } from '../route/up-to-charge.js'
import type { ToolCall } from './tool-call.js'
import type { ToolPayment, ToolResult, ToolSchema } from './tool-options.js'
import { whyUnsendable, withReceipt } from './tool-result.js'

export type CallHandler = (args: unknown, extra: object) => ToolResult | Promise<ToolResult>

/** A tool, as its calls are handled. */
export interface HandledTool {
  readonly name: string
  readonly output: ToolSchema | undefined
  readonly handler: CallHandler
}

/** How a handler ends. */
type Ran =
  | { readonly kind: 'made'; readonly result: ToolResult }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The call was cancelled, or its connection closed. */
  | { readonly kind: 'gone' }
  /** The gateway closes. */
  | { readonly kind: 'stopped' }

/** A result that can be sold. */
interface Made {
  readonly result: ToolResult
  /** In JSON; `undefined` if it is too large to be stored. */
  readonly body: Buffer | undefined
  /** Token units, where the price is a maximum. */
  readonly charge: bigint | undefined
}

/** The `authorization` flow for a tool: runs its handler, holds the result, settles, and then answers. */
export class HeldTool implements Delivery {
  readonly #context: AuthorizationFlowContext
  readonly #tool: HandledTool
  readonly #call: ToolCall
  #answer: ToolResult | undefined
  #thrown: { readonly error: unknown } | undefined

  constructor(context: AuthorizationFlowContext, tool: HandledTool, call: ToolCall) {
    this.#context = context
    this.#tool = tool
    this.#call = call
  }

  get isFull() {
    return this.#context.heldBudget.isFull
  }

  /** The handler's result, once it may go out. @throws What the handler has thrown. */
  get answer(): ToolResult | undefined {
    if (this.#thrown !== undefined) throw this.#thrown.error
    return this.#answer
  }

  async run(attempt: Reserved): Promise<Exit> {
    const { payer } = attempt.reservation
    const { maxHeldBytes } = attempt.route
    const lease = this.#context.heldBudget.open({ payer, maxHeldBytes })
    if (lease === undefined) return this.#release(attempt, { kind: 'server_busy' })
    try {
      const made = await this.#make(attempt, lease).catch(async (error: unknown) => {
        await releaseUnpaid(this.#context, attempt)
        throw error
      })
      return 'kind' in made ? await this.#release(attempt, made) : await this.#sell(attempt, made)
    } finally {
      lease.release()
    }
  }

  async #release(attempt: Reserved, exit: Exit): Promise<Exit> {
    await releaseUnpaid(this.#context, attempt)
    return exit
  }

  /** Makes a result. @returns How the call ends if there is none to pay for. */
  async #make(attempt: Reserved, lease: HeldLease): Promise<Made | Exit> {
    const { route, payment, project, caller } = attempt
    const running = { writableEnded: false }
    const meter = route.prices.openMeter(running, payment)
    const waiver = openWaiver(running)
    const charge = meter?.charge ?? refuseCharge
    const ran = await this.#runHandler(paymentOf(attempt, { waive: waiver.waive, charge }))
    running.writableEnded = true
    if (ran.kind === 'stopped') return { kind: 'shutting_down' }
    if (ran.kind === 'gone' || caller.isGone) return { kind: 'over' }
    if (ran.kind === 'threw') {
      this.#context.counters.count(project, 'refused', 'handler_failed')
      this.#thrown = ran
      return { kind: 'over' }
    }
    const { result } = ran
    if (waiver.reason !== undefined) this.#context.waived.count(project, waiver.reason)
    if (waiver.reason !== undefined || !isComplete(result)) {
      this.#answer = result
      return { kind: 'over' }
    }
    const problem = await whyUnsendable(result, this.#tool.output)
    if (problem !== undefined)
      throw new ConfigError(this.#tool.name, `its result ${problem}`, 'invalid_value')
    const body = Buffer.from(JSON.stringify(result))
    if (body.length > route.maxHeldBytes) return { kind: 'too_large' }
    if (!lease.take(body.length)) return { kind: 'server_busy' }
    const isStored = body.length <= MAX_STORED_BYTES
    return { result, body: isStored ? body : undefined, charge: meter?.close() }
  }

  /** Runs the handler until it has answered, or nobody waits for it any more. */
  #runHandler(x402: ToolPayment): Promise<Ran> {
    const { handler } = this.#tool
    const { signal } = this.#call
    return new Promise<Ran>((resolve) => {
      const { cutOff } = this.#context.requests
      const ends = [onAbort(cutOff, () => resolve({ kind: 'stopped' }))]
      if (signal) ends.push(onAbort(signal, () => resolve({ kind: 'gone' })))
      const run = async () => handler(this.#call.body, { ...this.#call.withoutPayment(), x402 })
      run()
        .then(
          (result) => resolve({ kind: 'made', result }),
          (error: unknown) => resolve({ kind: 'threw', error }),
        )
        .finally(() => {
          for (const end of ends) end()
        })
    })
  }

  /** As {@link holdAnswer} does it: settles first, and then lets the result out. */
  async #sell(attempt: Reserved, { result, body, charge }: Made): Promise<Exit> {
    const { keys, caller } = attempt
    const serialize = () => serializeUnpaid({ status: 200, headers: {}, body }, charge)
    if (charge !== undefined) await keepCharged(this.#context, attempt, serialize())
    const settled = await settle(attempt, { charge, serialize })
    if (settled.kind !== 'settled') return settled
    const { receipt } = settled
    const isRepeatable = keys.id.hasKey && body !== undefined
    // Nobody has received the result: the payer may ask once more, by id or with the same payment.
    if (caller.isGone && !isRepeatable) return reopen(settled)
    const stored = keys.id.hasKey
      ? serializeResponse({ status: 200, headers: receipt, body })
      : undefined
    const delivered = await deliver(settled, stored)
    if (caller.isGone && !isRepeatable) return undeliver(delivered)
    this.#answer = withReceipt(result, receipt, this.#call)
    give(delivered, stored)
    return { kind: 'over' }
  }
}

function paymentOf(
  { payment, reservation }: Reserved,
  means: Pick<ToolPayment, 'waive' | 'charge'>,
): ToolPayment {
  const { payload, requirements } = payment
  const { amount, asset, network } = requirements
  return { payer: reservation.payer, amount, asset, network, requirements, payload, ...means }
}

/** Whether a result delivers something: no error, and no question to the client in place of it. */
function isComplete(result: ToolResult & { readonly resultType?: unknown }): boolean {
  return result.isError !== true && (result.resultType ?? 'complete') === 'complete'
}
