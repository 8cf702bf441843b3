/** Shortest part of a URL's path, query or user info that counts as a key. */
const SHORTEST_KEY = 8

/**
 * Removes a URL and the keys in it from a text.
 *
 * Providers put their keys into the path, the query or the user info, and nodes and HTTP libraries
 * repeat them in their errors.
 */
export function redactUrl(text: string, url: string): string {
  let redacted = text.replaceAll(url, '[rpc url]')
  for (const secret of secretsOf(url)) redacted = redacted.replaceAll(secret, '[redacted]')
  return redacted
}

function secretsOf(url: string): readonly string[] {
  if (!URL.canParse(url)) return []
  const { host, hostname, pathname, searchParams, username, password } = new URL(url)
  const parts = [...pathname.split('/'), ...searchParams.values(), username, password]
  return [host, hostname, ...parts.filter((part) => part.length >= SHORTEST_KEY)]
}
