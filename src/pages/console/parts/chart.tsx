import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { formatDay, formatShortDay } from '../format/text.js'

/** One line or row of bars of a chart. */
export interface Series {
  readonly label: string
  /** A custom property of the page's colours. */
  readonly colour: string
  readonly values: readonly number[]
  readonly isBars?: boolean
}

interface ChartProps {
  /** What the chart shows; its numbers are in the table below it. */
  readonly label: string
  readonly days: readonly string[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** The last day is not over: it is drawn as unfinished. */
  readonly isOpen?: boolean
}

const HEIGHT = 220

const DAY_SECONDS = 86_400

/** Days between two labels of the axis. */
const DAYS = [1, 2, 3, 5, 7, 14, 30, 60, 90]
const DARK = '(prefers-color-scheme: dark)'

export function Chart({ label, days, series, format, isOpen = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const [index, setIndex] = useState<number>()
  const [isDark, setDark] = useState(() => matchMedia(DARK).matches)
  useEffect(() => {
    const query = matchMedia(DARK)
    const onChange = (): void => setDark(query.matches)
    query.addEventListener('change', onChange)
    return () => query.removeEventListener('change', onChange)
  }, [])
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const data = [days.map(secondsOf), ...series.flatMap((one) => partsOf(one, isOpen))]
    const options = optionsOf(element, { series, format, isOpen, onIndex: setIndex })
    const plot = new uPlot(options, data as uPlot.AlignedData, element)
    const watch = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    watch.observe(element)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [days, series, format, isOpen, isDark])
  return (
    <figure class="chart">
      <figcaption aria-hidden="true">
        {series.map((one) => (
          <span key={one.label} class={`key key-${one.colour}`}>
            {one.label}
            {index !== undefined && <b> {format(one.values[index] ?? 0)}</b>}
          </span>
        ))}
        <span class="chart-day">
          {index !== undefined && days[index] !== undefined && formatDay(days[index])}
          {isOpen && index === days.length - 1 && ' (so far)'}
        </span>
      </figcaption>
      <div class="plot" ref={place} role="img" aria-label={label} />
    </figure>
  )
}

const secondsOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1000

/** The values of a series: those of days that are over, and that of the day that is not, which no line leads to. */
function partsOf({ values }: Series, isOpen: boolean): readonly (number | null)[][] {
  if (!isOpen) return [[...values]]
  const last = values.length - 1
  return [
    values.map((value, index) => (index < last ? value : null)),
    values.map((value, index) => (index === last ? value : null)),
  ]
}

interface PlotSettings extends Pick<ChartProps, 'series' | 'format' | 'isOpen'> {
  readonly onIndex: (index: number | undefined) => void
}

function optionsOf(
  element: HTMLElement,
  { series, format, isOpen, onIndex }: PlotSettings,
): uPlot.Options {
  const styles = getComputedStyle(element)
  const colour = (name: string): string => styles.getPropertyValue(`--${name}`).trim()
  const axis: uPlot.Axis = {
    stroke: colour('muted'),
    font: `12px ${styles.fontFamily}`,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      // Bars of the first and the last day are as wide as the others.
      x: { range: (_plot, first, last) => [first - DAY_SECONDS / 2, last + DAY_SECONDS / 2] },
      y: { range: (_plot, min, max) => [Math.min(0, min * 1.1), max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 72,
        size: 30,
        values: (_plot, ticks) => ticks.map((tick) => formatShortDay(tick)),
        incrs: DAYS.map((days) => days * DAY_SECONDS),
      },
      { ...axis, size: 64, values: (_plot, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...series.flatMap((one) => {
        const line = lineOf(one, colour)
        const today = { ...line, alpha: 0.45, points: { ...line.points, show: !one.isBars } }
        return isOpen ? [line, today] : [line]
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onIndex(cursor.idx ?? undefined)] },
  }
}

function lineOf(
  { label, colour: name, values, isBars }: Series,
  colour: (name: string) => string,
): uPlot.Series {
  const stroke = colour(name)
  const bars = uPlot.paths.bars
  const isSingle = values.length === 1
  if (isBars && bars)
    return {
      label,
      fill: stroke,
      width: 0,
      paths: bars({ size: [0.7, 48] }),
      points: { show: false },
    }
  return { label, stroke, width: 2, points: { show: isSingle, size: 7, fill: stroke } }
}
