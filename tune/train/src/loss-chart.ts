/** Charts of losses, as SVG. */
export type Series = { name: string; points: readonly (readonly [step: number, loss: number])[] }
export type ChartOptions = {
  title: string
  /** Steps of the running mean drawn over the raw line. 1 draws none. */ smooth?: number
}

const [width, height] = [960, 540]
const plot = { left: 72, right: 24, top: 56, bottom: 56 }
// Colours that people with colour blindness can distinguish (Okabe and Ito).
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000']
const FONT = 'DejaVu Sans, Verdana, sans-serif'

const escapeXml = (text: string) => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`)

/** A chart of one or several runs. */
export function lossChart(series: readonly Series[], { title, smooth = 21 }: ChartOptions): string {
  const points = series.flatMap(one => one.points)
  const [lastStep, losses] = [Math.max(1, ...points.map(([step]) => step)), points.map(([, loss]) => loss)]
  const ticksY = ticks(Math.min(...losses, Infinity), Math.max(...losses, -Infinity))
  const [low, high] = [ticksY[0] ?? 0, ticksY.at(-1) ?? 1]
  const x = (step: number) => plot.left + (step / lastStep) * (width - plot.left - plot.right)
  const y = (loss: number) =>
    height - plot.bottom - ((loss - low) / (high - low || 1)) * (height - plot.top - plot.bottom)
  const line = (of: Series['points'], colour: string, style: string) =>
    `<polyline fill="none" stroke="${colour}" ${style} ` +
    `points="${of.map(([step, loss]) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`).join(' ')}"/>`
  const text = (at: readonly [number, number], content: string, anchor: string, size = 14) =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" text-anchor="${anchor}" ` +
    `font-size="${size}">${escapeXml(content)}</text>`
  const gridY = ticksY.map(
    value =>
      `<line x1="${plot.left}" x2="${width - plot.right}" y1="${y(value).toFixed(1)}" ` +
      `y2="${y(value).toFixed(1)}" ` +
      `stroke="#ddd"/>${text([plot.left - 8, y(value) + 5], numberText(value), 'end')}`,
  )
  const ticksX = ticks(0, lastStep).filter(step => step <= lastStep && Number.isInteger(step))
  const gridX = ticksX.map(step => text([x(step), height - plot.bottom + 22], String(step), 'middle'))
  const lines = series.flatMap(({ name, points: raw }, i) => {
    const colour = COLOURS[i % COLOURS.length] ?? '#000000'
    const isSmoothed = smooth > 1 && raw.length > smooth
    const legend = text([width - plot.right - 6, plot.top + 18 + 20 * i], name, 'end').replace(
      '<text',
      `<text fill="${colour}"`,
    )
    return [
      line(raw, colour, isSmoothed ? 'stroke-width="1" opacity="0.35"' : 'stroke-width="2"'),
      ...(isSmoothed ? [line(runningMean(raw, smooth), colour, 'stroke-width="2"')] : []),
      legend,
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ` +
      `${height}" font-family="${FONT}" fill="#222">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text([plot.left, 32], title, 'start', 18),
    ...gridY,
    ...gridX,
    text([width / 2, height - 12], 'step', 'middle'),
    ...lines,
    '</svg>',
    '',
  ].join('\n')
}

const numberText = (value: number) => String(Number(value.toPrecision(4)))

/** Round numbers that enclose the lowest and the highest value, about five intervals. */
function ticks(lowest: number, highest: number): number[] {
  if (!Number.isFinite(lowest) || !Number.isFinite(highest)) return [0, 1]
  const span = highest - lowest || Math.abs(highest) || 1
  const magnitude = 10 ** Math.floor(Math.log10(span / 5))
  const step =
    [1, 2, 5, 10].map(factor => factor * magnitude).find(size => span / size <= 6) ?? 10 * magnitude
  const first = Math.floor(lowest / step)
  return Array.from({ length: Math.ceil(highest / step) - first + 1 }, (_, i) => (first + i) * step)
}

/** The mean of the `count` values around each value, fewer at the ends. */
function runningMean(points: Series['points'], count: number): [number, number][] {
  const half = Math.floor(count / 2)
  return points.map(([step], i) => {
    const near = points.slice(Math.max(0, i - half), i + half + 1)
    return [step, near.reduce((sum, [, loss]) => sum + loss, 0) / near.length]
  })
}
