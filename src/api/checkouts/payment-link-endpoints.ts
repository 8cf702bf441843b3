/** `…/checkouts`: payment links. */
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { isPublicUrl } from '../../shared/http/http-url.js'
import { RETRY_AFTER_SECONDS } from '../../shared/http/problem-status.js'
import { notFound, RequestProblem } from '../../shared/http/respond-problem.js'
import { ANSWERS_KEPT_MS } from '../../ledger/once/store.js'
import { CHECKOUT_ID, CHECKOUT_STATUSES, MAX_OPEN_CHECKOUTS } from '../../ledger/checkouts.js'
import { formatDecimal } from '../../shared/money/decimal.js'
import { isName, NOT_A_NAME } from '../../shared/protocol/visible-text.js'
import { authorOf, keyScopeOf, nameOf, noteAct } from '../serve/acting.js'
import { merchantOf, ownProject } from '../serve/authenticate.js'
import { fiatMembers, fiatPrice } from './checkout-endpoints.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint, type Endpoint } from '../serve/define-endpoint.js'
import { rootUrlOf } from '../serve/docs-url.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { owned, type Owner } from '../serve/owner.js'
import { limitParameter, nameOfPlace, pageOf, placeParameter } from '../serve/pages.js'
import { checkoutDocument } from './payment-link-document.js'
import { quoteFiat } from '../payments/quote-fiat.js'
import { onceForKey, readHeaderKey, type KeyedRequest } from '../serve/repeatable-request.js'
import { referenceMember } from '../payments/submission.js'
import { WITH_CHAIN, WITH_RATE } from '../serve/usual-problems.js'
import { world } from '../../shared/world.js'

const documents = lazyDocuments(() => import('../documents/payment-link.js'))

const MIN_SECONDS = 60
const DEFAULT_SECONDS = 24 * 3600
const MAX_SECONDS = 90 * 24 * 3600

/** Longest address of a shop's page (characters). */
const MAX_URL_LENGTH = 2048

/** The form of ids. The ledger is not asked for any other. */
const CHECKOUT = new RegExp(`^${CHECKOUT_ID}$`)

const pageOfShop = (description: string, example: string) =>
  z
    .string()
    .max(MAX_URL_LENGTH, `must have at most ${MAX_URL_LENGTH} characters`)
    .refine(
      isPublicUrl,
      `must be an http(s) URL without a password or line breaks, like ${example}`,
    )
    .nullish()
    .meta({ description, examples: [example] })

const checkoutSchema = z.intersection(
  z.looseObject({
    ...fiatMembers,
    reference: referenceMember,
    description: z
      .string()
      .refine(isName, NOT_A_NAME)
      .nullish()
      .meta({ description: 'What is bought, for people.', examples: ['Two books'] }),
    successUrl: pageOfShop(
      'Where people go once they have paid: with the id of the checkout, as `checkout` in the query. Ask for the checkout, or listen to `checkout.paid`: anybody can open this URL.',
      'https://shop.example/thanks',
    ),
    cancelUrl: pageOfShop('Where people go who do not want to pay.', 'https://shop.example/cart'),
    expiresIn: z.int().min(MIN_SECONDS).max(MAX_SECONDS).default(DEFAULT_SECONDS).meta({
      description: 'For how long it can be paid, in seconds: a minute to 90 days. Default: a day.',
    }),
  }),
  fiatPrice,
)

const listQuery = z.object({
  cursor: placeParameter(CHECKOUT_ID),
  limit: limitParameter('Checkouts'),
  status: z.enum(CHECKOUT_STATUSES).optional().meta({ description: 'Only those in this state.' }),
})

export function paymentLinkEndpoints<Context extends RouterContext>(
  owner: Owner<Context>,
): readonly Endpoint<Context>[] {
  const path = `${owner.prefix}/checkouts`
  const list = { path, ...(owner.params && { params: owner.params }) }
  const params = { ...owner.params, id: 'Id of the checkout: `co_` and 32 hexadecimal digits.' }
  return [
    defineEndpoint({
      ...owned(owner, 'createCheckout', { tag: 'Payment links', scope: 'settle' }),
      method: 'POST',
      ...list,
      summary: 'Create a payment link',
      description:
        'The link can be paid once: by a person on its page, or by a program that gets a 402. The price is turned into tokens when it is paid.',
      headers: ['Idempotency-Key'],
      body: {
        schema: checkoutSchema,
        example: {
          amount: '15.00',
          currency: 'USD',
          reference: 'order-7',
          description: 'Two books',
          successUrl: 'https://shop.example/thanks',
        },
      },
      responses: { 201: { description: 'Created.', document: documents('checkout') } },
      problems: ['too_many_checkouts', ...WITH_RATE, ...WITH_CHAIN],
      async handle(context: Context, { req, res, readBody }) {
        const merchant = merchantOf(res)
        const { price, ...body } = readBody()
        const request = readHeaderKey(req, { ...keyScopeOf(res, 'checkouts'), res, body })
        return onceForKey(context, request, async (claim) => {
          // A price that nobody could pay is refused here, not when somebody opens the link.
          await quoteFiat(context, merchant, price)
          const id = await newCheckoutId(context, request)
          const { currency } = price
          const author = authorOf(res)
          const amount = formatDecimal(price.amount)
          const created = await context.ledger.checkouts.create(
            {
              id,
              project: merchant.project,
              url: `${rootUrlOf(res)}/pay/${id}`,
              amount,
              currency,
              reference: body.reference ?? undefined,
              description: body.description || undefined,
              successUrl: body.successUrl ?? undefined,
              cancelUrl: body.cancelUrl ?? undefined,
              expiresInMs: body.expiresIn * 1000,
            },
            author && { ...author, change: `checkout.created ${id}` },
          )
          if (created === undefined) throw tooMany()
          const shown = checkoutDocument(created)
          await claim.finish(JSON.stringify(shown))
          return shown
        })
      },
    }),
    defineEndpoint({
      ...owned(owner, 'listCheckouts', { tag: 'Payment links', scope: 'read' }),
      method: 'GET',
      ...list,
      summary: 'List payment links',
      description: 'All payment links, newest first, in pages.',
      query: listQuery,
      responses: { 200: { description: 'A page.', document: documents('checkoutList') } },
      problems: ['not_found'],
      async handle({ ledger }: Context, { res, query: { cursor: after, limit, status } }) {
        const query = { project: ownProject(res).id, status, after, limit: limit + 1 }
        const found = await ledger.checkouts.list(query)
        const { page, next } = pageOf(found, limit, nameOfPlace)
        return { checkouts: page.map(checkoutDocument), ...next }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'getCheckout', { tag: 'Payment links', scope: 'read' }),
      method: 'GET',
      path: `${path}/{id}`,
      params,
      summary: 'Get a payment link',
      description: 'One payment link, and whether it is paid.',
      responses: { 200: { description: 'The payment link.', document: documents('checkout') } },
      async handle({ ledger }: Context, { res, param }) {
        const found = await ledger.checkouts.find(idOf(param('id')), ownProject(res).id)
        return checkoutDocument(found ?? noCheckout())
      },
    }),
    defineEndpoint({
      ...owned(owner, 'cancelCheckout', { tag: 'Payment links', scope: 'settle' }),
      method: 'POST',
      path: `${path}/{id}/cancel`,
      params,
      summary: 'Cancel a payment link',
      description:
        'Nobody can pay it from now on. One that has expired, or was canceled before, stays as it is.',
      responses: { 200: { description: 'The payment link.', document: documents('checkout') } },
      problems: ['checkout_paid', 'checkout_in_progress'],
      async handle(context: Context, { res, param }) {
        const id = idOf(param('id'))
        const canceled = await context.ledger.checkouts.cancel(ownProject(res).id, id)
        if (canceled === undefined) return noCheckout()
        if (typeof canceled === 'object') {
          if (canceled.status === 'canceled') {
            const action = 'checkout.canceled'
            await noteAct(context, res, {
              action,
              after: { checkout: id },
              change: `${action} ${id}`,
            })
          }
          return checkoutDocument(canceled)
        }
        if (canceled === 'in_progress') res.set('Retry-After', String(RETRY_AFTER_SECONDS))
        throw new RequestProblem(`checkout_${canceled}`, NOT_CANCELED[canceled])
      },
    }),
  ]
}

const NOT_CANCELED = {
  paid: 'This checkout is paid already: refund its settlement instead.',
  in_progress: 'A payment of this checkout is under way: ask again once its outcome is known.',
} as const

/**
 * A random id. A request that is repeated after its process has died gets the same one again, which nobody can guess
 * from the request. Once its answer is not kept any more, its key makes another checkout: the first one may be paid.
 */
async function newCheckoutId(
  { ledger, now }: RouterContext,
  request: KeyedRequest | undefined,
): Promise<string> {
  if (request === undefined) return `co_${world.randomBytes(16).toString('hex')}`
  const secret = await ledger.secrets.sharedSecret('checkouts')
  for (let round = 0; ; round++) {
    const name = `${nameOf(request)} ${round}`
    const id = `co_${createHmac('sha256', secret).update(name).digest('hex').slice(0, 32)}`
    const known = await ledger.checkouts.find(id)
    if (known === undefined || now() - known.createdAt < ANSWERS_KEPT_MS) return id
  }
}

function idOf(id: string): string {
  return CHECKOUT.test(id) ? id : noCheckout()
}

function tooMany(): RequestProblem {
  return new RequestProblem(
    'too_many_checkouts',
    `There are ${MAX_OPEN_CHECKOUTS} open payment links already: cancel some, or give new ones a shorter \`expiresIn\`.`,
  )
}

const noCheckout = () => notFound('There is no checkout of that id here.')
