import { useEffect, useState } from 'preact/hooks'

/** What the hash of the URL names: an operation, or nothing. */
export function useRoute(): string {
  const [route, setRoute] = useState(readHash)
  useEffect(() => {
    const onChange = (): void => setRoute(readHash())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return route
}

function readHash(): string {
  return location.hash.replace(/^#\/?/, '')
}
