/** A QR code, drawn here: no other host hears of it. */
import { generate, type Bitmap2D } from 'lean-qr/nano'
import { useMemo } from 'preact/hooks'

/** Width of the empty border that scanners need (modules, ISO 18004). */
const QUIET_ZONE = 4

interface QrCodeProps {
  readonly text: string
  /** What it is, for people who cannot see it. */
  readonly label: string
}

/** Draws a text as a QR code; nothing if it is too long for one. */
export function QrCode({ text, label }: QrCodeProps) {
  const code = useMemo(() => encode(text), [text])
  if (code === undefined) return null
  const { size } = code
  const width = size + 2 * QUIET_ZONE
  return (
    <svg
      class="qr-code"
      role="img"
      aria-label={label}
      viewBox={`${-QUIET_ZONE} ${-QUIET_ZONE} ${width} ${width}`}
      shape-rendering="crispEdges"
    >
      <rect x={-QUIET_ZONE} y={-QUIET_ZONE} width={width} height={width} fill="#fff" />
      <path d={drawModules(code)} fill="#000" />
    </svg>
  )
}

function encode(text: string): Bitmap2D | undefined {
  try {
    return generate(text)
  } catch {
    return undefined
  }
}

/** The dark modules, each as a square of 1 × 1. */
function drawModules({ size, get }: Bitmap2D): string {
  const places = Array.from({ length: size }, (_, place) => place)
  return places
    .flatMap((y) => places.filter((x) => get(x, y)).map((x) => `M${x} ${y}h1v1h-1z`))
    .join('')
}
