/** Actions on an artifact: open it full screen, show and copy its source, copy a table's rows. */
import { Suspense, lazy, useState } from 'react'
import { CodeBlock } from '../code/code-block.tsx'
import type { ArtifactBody } from '../queries.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { CodeIcon, ExpandIcon } from '../ui/page-icons.tsx'
import { sourceOf } from './artifact-source.ts'
import { toolsWords } from '../words/tools.ts'

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
