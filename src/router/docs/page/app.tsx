import { useEffect, useState } from 'preact/hooks'
import { Home } from './parts/home.js'
import { Menu } from './parts/menu.js'
import { OperationView } from './parts/operation-view.js'
import { operationsOf, type ApiDocument } from './state/document.js'
import { useRoute } from './state/route.js'
import { NO_TOKENS, type Tokens } from './try/tokens.js'

/** The page. */
export function App() {
  const { api, error } = useDocument()
  const [tokens, setTokens] = useState<Tokens>(NO_TOKENS)
  const route = useRoute()
  const operation = api && operationsOf(api).find((one) => one.operationId === route)
  const summary = operation?.summary
  useEffect(() => {
    document.title = summary === undefined ? 'x402 gateway API' : `${summary} · x402 gateway API`
    if (summary !== undefined) document.querySelector<HTMLElement>('h1')?.focus()
    scrollTo(0, 0)
  }, [summary])
  if (error !== undefined)
    return (
      <main class="alone">
        <h1>The API could not be loaded</h1>
        <p role="alert">{error} Reload this page to try again.</p>
      </main>
    )
  if (api === undefined)
    return (
      <main class="alone">
        <h1>x402 gateway API</h1>
        <p class="loading" role="status">
          Loading…
        </p>
      </main>
    )
  return (
    <div class="layout">
      <a class="skip" href="#content" onClick={skipToContent}>
        Skip to content
      </a>
      <Menu api={api} current={operation?.operationId} />
      <main id="content" tabIndex={-1}>
        {operation ? (
          <OperationView key={operation.operationId} {...{ api, operation, tokens, setTokens }} />
        ) : (
          <Home api={api} tokens={tokens} setTokens={setTokens} />
        )}
      </main>
    </div>
  )
}

/** The hash names an operation: a link must not change it. */
function skipToContent(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#content')?.focus()
}

function useDocument() {
  const [api, setApi] = useState<ApiDocument>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    const load = async (): Promise<void> => {
      const response = await fetch('../openapi.json')
      if (!response.ok) throw new Error(`The gateway answered with status ${response.status}.`)
      setApi((await response.json()) as ApiDocument)
    }
    load().catch((failure: unknown) =>
      setError(failure instanceof Error ? failure.message : 'The gateway did not answer.'),
    )
  }, [])
  return { api, error }
}
