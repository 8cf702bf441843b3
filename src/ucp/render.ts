import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as checkout from './examples/checkout.js'
import * as payment from './examples/payment.js'
import { formatJson } from './format-json.js'
import { HANDLER_VERSION, UCP_VERSION, type Handler } from './handler.js'
import { ownFolder } from './own-folder.cjs'
import { networkSchemas } from './schema/payment-definitions.js'

let template: string | undefined

/**
 * Renders the human-readable specification of the handler, in Markdown.
 *
 * The text is `gateway.md`, which is read once. A placeholder such as `{{handlerId}}` stands for a
 * string or for the JSON of an example; {@link placeholdersOf} lists them.
 *
 * @throws Error when the template is missing or has an unknown placeholder.
 */
export function renderSpecification(handler: Handler): string {
  template ??= readTemplate()
  return fillTemplate(template, placeholdersOf(handler))
}

/** Reads the template, by default the one beside this file. */
export function readTemplate(path = join(ownFolder, 'gateway.md')): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(
      `The template of the UCP specification cannot be read from ${path}. It is a file of express-x402-gateway: a bundler must leave the package external, or copy the file.`,
      { cause },
    )
  }
}

/** Values of placeholders, by name. */
type Placeholders = Readonly<Record<string, string | object>>

function placeholdersOf(handler: Handler): Placeholders {
  return {
    handlerId: handler.id,
    handlerVersion: HANDLER_VERSION,
    docsUrl: handler.docsUrl,
    ucpVersion: UCP_VERSION,
    networkDescription: networkSchemas[handler.networkNames].description,
    businessProfile: checkout.exampleBusinessProfile(handler),
    platformProfile: checkout.examplePlatformProfile(handler),
    prepareRequest: checkout.examplePrepareRequest,
    prepareResponse: checkout.examplePrepareResponse(handler),
    checkout: checkout.exampleCheckout(handler),
    completion: checkout.exampleCompletion(handler),
    completedCheckout: checkout.exampleCompleted(handler),
    refusedCheckout: checkout.exampleRefused(handler),
    requirement: payment.exampleRequirement(handler),
    typedData: payment.exampleTypedData(handler),
    payload: payment.examplePayload(handler),
    submission: payment.exampleSubmission(handler),
    settlement: payment.exampleSettlement(handler),
    refusal: payment.exampleRefusal(handler),
  }
}

/** Replaces each `{{name}}` by its value: strings unchanged, everything else as JSON. */
export function fillTemplate(text: string, values: Placeholders): string {
  return text.replaceAll(/\{\{(.*?)\}\}/g, (placeholder, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined)
      throw new Error(`A template has the unknown placeholder ${placeholder}.`)
    return typeof value === 'string' ? value : formatJson(value)
  })
}
