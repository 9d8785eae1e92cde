/** A demonstration as one self-contained HTML file. */
import { z } from 'zod'
import { barChart } from '../bar-chart.ts'
import { lossCharts, lossTable, lossesOf } from '../losses.ts'
import { type Table } from '../matrix/tables.ts'
import { accuracyTables } from './accuracy-tables.ts'
import type { DemoOutcome } from './outcome.ts'
import { FULL } from './plan.ts'

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`)

function tableHtml({ title, columns, rows, notes }: Table): string {
  const cells = (row: readonly string[], tag: string) =>
    row.map(cell => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')
  const head = `<thead><tr>${cells(columns, 'th')}</tr></thead>`
  const body = rows.map(row => `<tr>${cells(row, 'td')}</tr>`).join('')
  const below = notes.map(note => `<p>${escapeHtml(note)}</p>`).join('')
  return `<h2>${escapeHtml(title)}</h2><table>${head}<tbody>${body}</tbody></table>${below}`
}

/** Accuracy, and losses if there is a bf16 run to compare with. */
export const demoTables = (outcome: DemoOutcome): Table[] => {
  const runs = lossesOf(outcome)
  return [
    ...accuracyTables(outcome),
    ...(runs.some(({ config }) => config === 'BF16') ? [lossTable(runs)] : []),
  ]
}

function accuracyChart({ scored, untrained }: DemoOutcome): string {
  const own = [
    ...Map.groupBy(
      scored.filter(({ base }) => base === 'own'),
      ({ config }) => config,
    ),
  ]
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const groups = [
    { name: 'untrained', bars: [untrained.romanian.accuracy, untrained.english.accuracy] },
    ...own.map(([name, runs]) => ({
      name,
      bars: [mean(runs.map(run => run.romanian.accuracy)), mean(runs.map(run => run.english.accuracy))],
    })),
  ]
  return barChart(groups, {
    title: 'Accuracy',
    series: ['Romanian', 'English'],
    format: value => value.toFixed(2),
  })
}

const sizes = z.object({ base: z.object({ steps: z.number() }) })

/**
 * In a run smaller than the full demonstration the base has learned nothing that an adapter could build on.
 */
function quickNote({ plan }: DemoOutcome): string {
  const parsed = sizes.safeParse(plan)
  if (!parsed.success || parsed.data.base.steps >= FULL.base.steps) return ''
  return (
    '<p><strong>This run is too small to learn anything.</strong> ' +
    `The base was trained for ${parsed.data.base.steps} of ${FULL.base.steps} steps, ` +
    'so accuracies are near zero in every recipe. ' +
    'This report shows that every part works. Do not compare its numbers.</p>'
  )
}

export function demoReport(outcome: DemoOutcome): string {
  const charts = lossCharts(lossesOf(outcome))
  const facts = [
    `Machine: ${outcome.hardware}`,
    `Started: ${outcome.started_at}`,
    'Training time of all adapters: ' +
      `${Math.round(outcome.losses.reduce((sum, { seconds }) => sum + seconds, 0))} s`,
  ]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Cairn Tune: accuracy of every recipe</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}
th,td{padding:.3rem .8rem;border-bottom:1px solid #ddd;text-align:right}
th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto}
pre{overflow:auto;background:#f6f6f6;padding:1rem}</style></head>
<body><h1>Accuracy of every recipe</h1>
${quickNote(outcome)}
<p>A small base was trained from nothing on English word problems with every step written out, and on
Romanian statements without questions or answers. Each recipe then trained an adapter on Romanian problems.
Every adapter was loaded into a running server and asked fifty questions at a time.</p>
<ul>${facts.map(fact => `<li>${escapeHtml(fact)}</li>`).join('')}</ul>
${demoTables(outcome).map(tableHtml).join('\n')}
${accuracyChart(outcome)}
<h2>Loss</h2>
${charts.map(({ svg }) => svg).join('\n')}
<h2>Plan</h2><pre>${escapeHtml(JSON.stringify(outcome.plan, null, 2))}</pre>
</body></html>
`
}
