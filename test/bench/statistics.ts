/** The middle of some figures. */
export function median(figures: readonly number[]): number {
  return percentile(figures, 50)
}

/** The figure that so many percent are not above. */
export function percentile(figures: readonly number[], percent: number): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const position = (percent / 100) * (sorted.length - 1)
  const below = sorted[Math.floor(position)] ?? NaN
  const above = sorted[Math.ceil(position)] ?? NaN
  return below + (above - below) * (position - Math.floor(position))
}
