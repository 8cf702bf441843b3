export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** Whether a text is such a URL without a user and password. Line breaks are no part of one, though `URL` drops them. */
export function isPublicUrl(text: string): boolean {
  if (!isHttpUrl(text) || /\p{Cc}/u.test(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
