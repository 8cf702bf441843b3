/** Answers of the endpoints below `/api/v2/payment/discovery`. */
import { z } from 'zod'
import { document } from './component.js'
import { anyObject, count, list, object, text, time } from './fields.js'

const resource = document('SoldResource', 'A resource that was sold.', {
  resource: text(
    'Its URL, without query. `:id` stands for a parameter.',
    'https://shop.example/report/:id',
  ),
  type: z.enum(['http', 'mcp']).meta({ description: 'What it is called by.' }),
  method: text('HTTP method, if known.', 'GET').optional(),
  x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
  accepts: list(
    'How it was paid last.',
    anyObject('An entry of `accepts`, without `extra.offerId`.'),
  ),
  lastUpdated: time('When it was sold last.'),
  sales: object('Its sales by this gateway.', {
    count: count('How often it was sold.'),
    last: time('When it was sold last.'),
  }),
  description: text('What it is, in the seller’s words.').optional(),
  mimeType: text('Media type of the response.').optional(),
  tags: z.array(z.string()).optional().meta({ description: 'Words for it.' }),
  extensions: anyObject('`bazaar`: its input and output.').optional(),
})

export const resourceList = document('SoldResourceList', 'A page of resources.', {
  x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
  items: list('The resources.', resource),
  pagination: object('The page.', {
    limit: count('Resources on a page.'),
    offset: count('Resources before this page.'),
    total: count('All resources.'),
  }),
})

export const resourceSearch = document(
  'SoldResourceSearch',
  'A page of resources that were found.',
  {
    x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
    resources: list('The resources.', resource),
    pagination: object('The page.', {
      limit: count('Resources on a page.'),
      cursor: z
        .string()
        .nullable()
        .meta({ description: '`cursor` of the next page; `null` on the last.' }),
    }),
  },
)
