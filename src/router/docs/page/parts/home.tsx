import { TokenFields, type TokensProps } from '../try/tokens.js'
import type { ApiDocument } from '../state/document.js'
import { Text } from './text.js'

/** What is shown before an operation is chosen. */
export function Home({ api, ...tokens }: { readonly api: ApiDocument } & TokensProps) {
  return (
    <>
      <h1 tabIndex={-1}>{api.info.title}</h1>
      <p class="sub">
        Version {api.info.version} at <code>{api.servers[0]?.url}</code>. For programs:{' '}
        <a href="../openapi.json">openapi.json</a> (OpenAPI 3.1).
      </p>
      <Text text={api.info.description} />
      <h2>Try it</h2>
      <p>
        Choose an operation and send a request to this gateway. What it needs a token for, it gets
        from here:
      </p>
      <TokenFields api={api} {...tokens} />
      <h2>What there is</h2>
      <dl class="facts">
        {api.tags.map(({ name, description }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}
