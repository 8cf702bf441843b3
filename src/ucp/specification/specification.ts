import type { Handler } from '../handler.js'
import { businessIntegration } from './business.js'
import { changelog } from './changelog.js'
import { errorMapping } from './error-mapping.js'
import { integrations } from './integrations.js'
import { introduction } from './introduction.js'
import { stack } from './markdown.js'
import { paymentProtocol } from './payment-protocol.js'
import { platformIntegration } from './platform.js'
import { references } from './references.js'
import { securityConsiderations } from './security.js'

/** The chapters, in the order of UCP's template for payment handlers. */
const CHAPTERS: ReadonlyArray<(handler: Handler) => string> = [
  introduction,
  businessIntegration,
  platformIntegration,
  paymentProtocol,
  integrations,
  errorMapping,
  securityConsiderations,
  references,
  changelog,
]

/** Writes the human-readable specification of the handler, in Markdown. */
export function handlerSpecification(handler: Handler): string {
  return `${stack(...CHAPTERS.map((chapter) => chapter(handler)))}\n`
}
