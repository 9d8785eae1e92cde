/** Actions on an artifact: open it full screen, show and copy its source, copy a table's rows. */
import { Suspense, lazy, useState } from 'react'
import { CodeBlock } from '../code/code-block.tsx'
import type { ArtifactBody } from '../queries.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { CodeIcon, ExpandIcon } from '../ui/page-icons.tsx'
import { toolsWords } from '../words/tools.ts'
import { csvOf } from '../ui/csv.ts'

const FullScreen = lazy(() => import('./full-screen.tsx'))

type Props = {
  sessionId: string
  name: string
  spec: ArtifactBody
  isSource: boolean
  onSource: (isSource: boolean) => void
}

export function ArtifactActions({ sessionId, name, spec, isSource, onSource }: Props) {
  const [isFull, setFull] = useState(false)
  return (
    <span className="artifact-actions">
      <button
        type="button"
        className="button quiet square small"
        aria-label={toolsWords.sourceOf(name)}
        title={toolsWords.source}
        aria-pressed={isSource}
        onClick={() => onSource(!isSource)}
        data-testid="artifact-source"
      >
        <CodeIcon />
      </button>
      <CopyButton text={sourceOf(spec).text} name={toolsWords.copySourceOf(name)} />
      <button
        type="button"
        className="button quiet square small"
        aria-label={toolsWords.fullScreenOf(name)}
        title={toolsWords.fullScreen}
        onClick={() => setFull(true)}
        data-testid="artifact-full"
      >
        <ExpandIcon />
      </button>
      {isFull && (
        <Suspense fallback={null}>
          <FullScreen sessionId={sessionId} name={name} spec={spec} onClose={() => setFull(false)} />
        </Suspense>
      )}
    </span>
  )
}

export function ArtifactSource({ spec }: { spec: ArtifactBody }) {
  const { text, language } = sourceOf(spec)
  return <CodeBlock code={text} language={language} />
}

/** The source of an artifact as text. Pure. */
function sourceOf(spec: ArtifactBody): { text: string; language: string } {
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
