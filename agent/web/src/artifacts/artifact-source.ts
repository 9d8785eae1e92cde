/** The source of an artifact as text. Pure. */
import type { ArtifactBody } from '../queries.ts'
import { csvOf } from '../ui/csv.ts'

export function sourceOf(spec: ArtifactBody): { text: string; language: string } {
  switch (spec.kind) {
    case 'markdown':
      return { text: spec.content, language: 'markdown' }
    case 'table':
      return { text: csvOf([spec.columns, ...spec.rows]), language: 'csv' }
    case 'chart':
      return { text: JSON.stringify(spec.chart, null, 2), language: 'json' }
    case 'html':
      return { text: spec.html, language: 'xml' }
    case 'svg':
      return { text: spec.svg, language: 'xml' }
    case 'image':
      return { text: spec.path, language: '' }
  }
}
