import { ConfigError } from '../../shared/errors.js'
import { onAbort } from '../../shared/http/on-abort.js'
import { MAX_STORED_BYTES } from '../../ledger/once/store.js'
import { keepCharged, type AuthorizationFlowContext } from '../flow/authorization-flow.js'
import { shownOf } from '../flow/exchange.js'
import type { Exit } from '../flow/exits.js'
import { deliver, give, receiptFor, releaseUnpaid, reopen } from '../flow/payment-attempt.js'
import { settle, undeliver } from '../flow/payment-attempt.js'
import type { Delivery, Reserved } from '../flow/payment-attempt.js'
import { openWaiver } from '../flow/waiver.js'
import type { HeldLease } from '../hold/held-budget.js'
import { serializeResponse, serializeUnpaid } from '../respond/stored-response.js'
import { refuseCharge } from '../route/up-to-charge.js'
import { withoutPayment, type ToolCall } from './tool-call.js'
import type { ToolPayment, ToolResult, ToolSchema } from './tool-options.js'
import { whyUnsendable, withReceipt } from './tool-result.js'

export type CallHandler = (args: unknown, extra: object) => ToolResult | Promise<ToolResult>

/** A tool, as its calls are handled. */
export interface HandledTool {
  readonly name: string
  readonly output: ToolSchema | undefined
  readonly handler: CallHandler
}

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
    const { route, payment, project, caller, reservation } = attempt
    const running = { writableEnded: false }
    const meter = route.prices.openMeter(running, payment)
    const waiver = openWaiver(running)
    const means = { waive: waiver.waive, charge: meter?.charge ?? refuseCharge }
    const paid = { payer: reservation.payer, ...shownOf(payment), ...means }
    const ran = await this.#runHandler(project, paid)
    running.writableEnded = true
    if (!('result' in ran)) return ran
    const { result } = ran
    if (caller.isGone) return { kind: 'over' }
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
  #runHandler(project: string, x402: ToolPayment): Promise<Pick<Made, 'result'> | Exit> {
    const { signal, body, extra } = this.#call
    const run = async () => this.#tool.handler(body, { ...withoutPayment(extra), x402 })
    return new Promise((resolve) => {
      const ends = [
        onAbort(this.#context.requests.cutOff, () => resolve({ kind: 'shutting_down' })),
        ...(signal ? [onAbort(signal, () => resolve({ kind: 'over' }))] : []),
      ]
      const fail = (error: unknown): void => {
        this.#context.counters.count(project, 'refused', 'handler_failed')
        this.#thrown = { error }
        resolve({ kind: 'over' })
      }
      run()
        .then((result) => resolve({ result }), fail)
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
    const receipt = receiptFor(settled)
    const isRepeatable = keys.id.hasKey && body !== undefined
    // Nobody has received the result: the payer may ask once more, by id or with the same payment.
    if (caller.isGone && !isRepeatable) return reopen(settled)
    const stored = keys.id.hasKey
      ? serializeResponse({ status: 200, headers: body ? receipt : settled.receipt, body })
      : undefined
    const delivered = await deliver(settled, stored)
    if (caller.isGone && !isRepeatable) return undeliver(delivered)
    this.#answer = withReceipt(result, receipt, this.#call)
    give(delivered, stored)
    return { kind: 'over' }
  }
}

/** Whether a result delivers something: it is no error, and asks its client for nothing. */
function isComplete({ isError, resultType }: ToolResult & { resultType?: unknown }): boolean {
  return isError !== true && (resultType ?? 'complete') === 'complete'
}
