/** Messages to screen readers, in the live region of the page. */
let tell: (text: string) => void = () => undefined

/** Says something to screen readers. */
export function announce(text: string): void {
  tell(text)
}

/** Sets the live region. */
export function setAnnouncer(listener: (text: string) => void): void {
  tell = listener
}
