import type { handlerDescriptor } from '../ucp/handler.js'

/** Writes the handler as ACP does: once, with its schemas and demands beside its config. */
export function acpHandler<Config extends object>(
  { id, version, spec, schema }: ReturnType<typeof handlerDescriptor>,
  config: Config,
) {
  return {
    id,
    name: id,
    version,
    spec,
    requires_delegate_payment: false as const,
    requires_pci_compliance: false as const,
    psp: 'x402',
    config_schema: schema,
    instrument_schemas: [schema.replace(/schema\.json$/, 'instrument_schema.json')],
    config,
  }
}
