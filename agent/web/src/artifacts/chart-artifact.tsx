/** A chart in the colours of the theme, with its numbers as a table for screen readers. */
import {
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  DoughnutController,
  Legend,
  LineController,
  LineElement,
  LinearScale,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
} from 'chart.js'
import { useEffect, useRef } from 'react'
import type { ArtifactBody } from '../queries.ts'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { useThemeName } from '../ui/use-theme-name.ts'
import { toolsWords } from '../words/tools.ts'

Chart.register(
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  DoughnutController,
  Legend,
  LineController,
  LineElement,
  LinearScale,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
)

type ChartSpec = Extract<ArtifactBody, { kind: 'chart' }>['chart']
/** With more labels than this, the axis leaves some out. */
const MAX_NAMES = 20
const HUES = [165, 252, 45, 300, 210, 340, 130, 22, 277, 62]

export function ChartArtifact({ name, chart }: { name: string; chart: ChartSpec }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const isStill = useMediaQuery('(prefers-reduced-motion: reduce)')
  const theme = useThemeName()
  useEffect(() => {
    if (!canvas.current) return
    const drawn = draw(canvas.current, chart, theme === 'dark', isStill)
    return () => drawn.destroy()
  }, [chart, theme, isStill])
  return (
    <div className="artifact-chart">
      <canvas ref={canvas} role="img" aria-label={toolsWords.chart(chart.type, name)} />
      <table className="visually-hidden">
        <caption>{name}</caption>
        <thead>
          <tr>
            <th scope="col">{toolsWords.label}</th>
            {chart.datasets.map(set => (
              <th key={set.label} scope="col">
                {set.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {chart.labels.map((label, i) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {chart.datasets.map(set => (
                <td key={set.label}>{set.data[i]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function draw(canvas: HTMLCanvasElement, chart: ChartSpec, isDark: boolean, isStill: boolean): Chart {
  const colour = (i: number, alpha = 1) =>
    `oklch(${isDark ? 0.76 : 0.56} 0.11 ${HUES[i % HUES.length]} / ${alpha})`
  const ink = isDark ? 'oklch(0.73 0.008 90)' : 'oklch(0.46 0.01 85)'
  const line = isDark ? 'oklch(0.295 0.007 90)' : 'oklch(0.912 0.005 95)'
  const isRound = chart.type === 'pie' || chart.type === 'doughnut'
  const scale = { ticks: { color: ink }, grid: { color: line }, border: { color: line } }
  // That many labels are usually steps of one scale, such as days: skip some, and rotate none.
  const steps = chart.labels.length > MAX_NAMES ? { maxRotation: 0, autoSkipPadding: 16 } : {}
  return new Chart(canvas, {
    type: chart.type,
    data: {
      labels: [...chart.labels],
      datasets: chart.datasets.map((set, i) => ({
        label: set.label,
        // A scatter chart uses numeric labels as x values.
        data:
          chart.type === 'scatter'
            ? set.data.map((y, x) => ({
                x: Number.isFinite(Number(chart.labels[x])) ? Number(chart.labels[x]) : x,
                y,
              }))
            : [...set.data],
        backgroundColor: isRound
          ? set.data.map((_, part) => colour(part, 0.85))
          : colour(i, chart.type === 'line' ? 0.15 : 0.8),
        borderColor: isRound ? (isDark ? 'oklch(0.222 0.006 90)' : 'white') : colour(i),
        borderWidth: isRound ? 2 : chart.type === 'bar' ? 0 : 2,
        borderRadius: 3,
        tension: 0.25,
        pointRadius: chart.type === 'scatter' ? 4 : 2,
      })),
    },
    options: {
      maintainAspectRatio: false,
      font: { family: 'system-ui, sans-serif', size: 11 },
      ...(isStill ? { animation: false as const } : { animation: { duration: 250 } }),
      scales: isRound
        ? {}
        : {
            x: { ...scale, ticks: { ...scale.ticks, ...steps } },
            y: { ...scale, beginAtZero: chart.type === 'bar' },
          },
      plugins: {
        legend: {
          display: isRound || chart.datasets.length > 1,
          labels: { color: ink, boxWidth: 10, boxHeight: 10 },
        },
      },
    },
  })
}
