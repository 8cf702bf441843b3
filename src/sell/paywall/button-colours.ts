/** Colours of buttons: the merchant's accent, with black or white text. */
export function buttonColours(accent: string | undefined): string {
  if (accent === undefined) return ''
  const ink = luminance(accent) > CONTRAST_MIDDLE ? '#000' : '#fff'
  return `:root{--accent:${accent};--accent-ink:${ink}}`
}

/** Above this luminance, black has more contrast than white (WCAG 2, relative luminance). */
const CONTRAST_MIDDLE = 0.179

function luminance(colour: string): number {
  const digits = colour.length === 4 ? colour.replaceAll(/[0-9a-f]/gi, '$&$&') : colour
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((place) => {
    const value = Number.parseInt(digits.slice(place, place + 2), 16) / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
