/**
 * Groups of bars as SVG: models by recipe, or recipes by what they were scored on. Fonts and colours are
 * those of the loss charts.
 */

export type BarGroup = {
  name: string
  /** One value per series. Undefined leaves the place empty; a string is written in it. */ bars: readonly (
    number | string | undefined
  )[]
}
export type BarChartOptions = { title: string; series: readonly string[]; format: (value: number) => string }

const [width, height] = [960, 540]
const plot = { left: 72, right: 24, top: 84, bottom: 56 }
// Colours that people with colour blindness can distinguish (Okabe and Ito).
const COLOURS = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#000000',
  '#999999',
  '#8c6d31',
]

const escapeXml = (text: string) => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`)

type Text = { x: number; y: number; content: string; anchor?: 'start' | 'middle' | 'end'; size?: number }
const textOf = ({ x, y, content, anchor = 'start', size = 14 }: Text) =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ` +
  `font-size="${size}">${escapeXml(content)}</text>`

const LABEL = 11
/** Approximate width of a text in pixels, from the average letter of this font. */
const wide = (content: string, size: number) => content.length * size * 0.62
/** Text that runs upwards. */
const standing = (content: string, x: number, y: number) =>
  `<text transform="translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(-90)" ` +
  `font-size="${LABEL}">${escapeXml(content)}</text>`

/** The next round number at or above the highest value. */
function roundUp(highest: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(highest || 1))
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find(factor => factor * magnitude >= highest) ?? 10) * magnitude
}

export function barChart(groups: readonly BarGroup[], { title, series, format }: BarChartOptions): string {
  const values = groups.flatMap(({ bars }) => bars.filter(bar => typeof bar === 'number'))
  const top = roundUp(Math.max(0, ...values))
  const groupWidth = (width - plot.left - plot.right) / Math.max(1, groups.length)
  const barWidth = (groupWidth * 0.86) / Math.max(1, series.length)
  // A label wider than its bar would run into the next one.
  const isNarrow =
    barWidth <
    Math.max(
      0,
      ...groups.flatMap(({ bars }) =>
        bars.map(bar => (bar === undefined ? 0 : wide(typeof bar === 'string' ? bar : format(bar), LABEL))),
      ),
    )
  // Leaves a gap between the longest name and the next.
  const nameSize = Math.min(
    14,
    (14 * groupWidth * 0.95) / Math.max(1, ...groups.map(({ name }) => wide(name, 14))),
  )
  const y = (value: number) => height - plot.bottom - (value / top) * (height - plot.top - plot.bottom)
  const grid = [0, 0.25, 0.5, 0.75, 1]
    .map(share => share * top)
    .map(
      value =>
        `<line x1="${plot.left}" x2="${width - plot.right}" y1="${y(value).toFixed(1)}" ` +
        `y2="${y(value).toFixed(1)}" ` +
        'stroke="#ddd"/>' +
        textOf({ x: plot.left - 8, y: y(value) + 5, content: format(value), anchor: 'end' }),
    )
  const bars = groups.flatMap(({ name, bars: own }, group) => {
    const left = plot.left + group * groupWidth
    const drawn = own.map((bar, i) => {
      const x = left + groupWidth * 0.07 + i * barWidth
      const label = (content: string, at: number) =>
        isNarrow
          ? standing(content, x + barWidth * 0.45 + 4, at - 5)
          : textOf({ x: x + barWidth * 0.45, y: at - 5, content, anchor: 'middle', size: LABEL })
      if (bar === undefined) return ''
      if (typeof bar === 'string') return label(bar, y(0))
      return (
        `<rect x="${x.toFixed(1)}" y="${y(bar).toFixed(1)}" width="${(barWidth * 0.9).toFixed(1)}" ` +
        `height="${(y(0) - y(bar)).toFixed(1)}" ` +
        `fill="${COLOURS[i % COLOURS.length]}"/>${label(format(bar), y(bar))}`
      )
    })
    return [
      ...drawn,
      textOf({
        x: left + groupWidth / 2,
        y: height - plot.bottom + 22,
        content: name,
        anchor: 'middle',
        size: Number(nameSize.toFixed(1)),
      }),
    ]
  })
  const legend = series.reduce<{ at: number; drawn: string[] }>(
    ({ at, drawn }, name, i) => ({
      at: at + 17 + wide(name, 12) + 18,
      drawn: [
        ...drawn,
        `<rect x="${at.toFixed(1)}" y="48" width="12" height="12" ` +
          `fill="${COLOURS[i % COLOURS.length]}"/>${textOf({ x: at + 17, y: 59, content: name, size: 12 })}`,
      ],
    }),
    { at: plot.left, drawn: [] },
  ).drawn
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ` +
      `${height}" font-family="DejaVu Sans" fill="#222">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    textOf({ x: plot.left, y: 32, content: title, size: 18 }),
    ...grid,
    ...bars,
    ...legend,
    '</svg>',
    '',
  ].join('\n')
}
