/** The content of an artifact, rendered by its kind. */
import { useQuery } from '@tanstack/react-query'
import { type SyntheticEvent, lazy, useEffect, useRef } from 'react'
import { describeError } from '../api.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { type ArtifactBody, fileQuery } from '../queries.ts'
import { TableArtifact } from './table-artifact.tsx'
import { generalWords } from '../words/general.ts'

const ChartArtifact = lazy(async () => ({ default: (await import('./chart-artifact.tsx')).ChartArtifact }))

type Props = { sessionId: string; name: string; spec: ArtifactBody }

export function ArtifactBodyView({ sessionId, name, spec }: Props) {
  switch (spec.kind) {
    case 'markdown':
      return (
        <div className="artifact-text">
          <Markdown text={spec.content} />
        </div>
      )
    case 'table':
      return <TableArtifact columns={spec.columns} rows={spec.rows} />
    case 'chart':
      return <ChartArtifact name={name} chart={spec.chart} />
    case 'html':
      return <HtmlFrame name={name} html={spec.html} />
    // An svg in an image element runs no scripts and loads nothing.
    case 'svg':
      return <Picture name={name} type="image/svg+xml" content={spec.svg} />
    case 'image':
      return (
        <WorkspaceImage
          sessionId={sessionId}
          name={name}
          path={spec.path}
          type={spec.mime_type ?? typeOf(spec.path)}
        />
      )
  }
}

/**
 * Runs scripts in an opaque origin: without cookies, storage, network or access to this page. A srcdoc frame
 * would inherit this page's policy and run no scripts, so the HTML is posted to a page with its own policy
 * (public/artifact-frame.html).
 */
function HtmlFrame({ name, html }: { name: string; html: string }) {
  const isWritten = useRef(false)
  const write = (event: SyntheticEvent<HTMLIFrameElement>) => {
    if (isWritten.current) return
    isWritten.current = true
    // An opaque origin cannot be named as the target. The message holds only the frame's own content.
    event.currentTarget.contentWindow?.postMessage(html, '*')
  }
  return (
    <iframe
      className="artifact-html"
      title={name}
      sandbox="allow-scripts"
      src="/artifact-frame.html"
      referrerPolicy="no-referrer"
      onLoad={write}
    />
  )
}

function Picture({ name, type, content }: { name: string; type: string; content: BlobPart }) {
  const picture = useRef<HTMLImageElement>(null)
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([content], { type }))
    if (picture.current) picture.current.src = url
    return () => URL.revokeObjectURL(url)
  }, [content, type])
  return <img className="artifact-picture" ref={picture} alt={name} />
}

function WorkspaceImage({
  sessionId,
  name,
  path,
  type,
}: {
  sessionId: string
  name: string
  path: string
  type: string
}) {
  const { data, error } = useQuery({
    ...fileQuery(sessionId, path),
    select: file =>
      file.encoding === 'base64' ? bytesOf(file.content) : new TextEncoder().encode(file.content),
  })
  if (error) return <p className="inline-error">{describeError(error)}</p>
  return data ? (
    <Picture name={name} type={type} content={data} />
  ) : (
    <p className="artifact-wait faint">{generalWords.loading}</p>
  )
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), char => char.charCodeAt(0))
const TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
}
const typeOf = (path: string) =>
  TYPES[path.slice(path.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream'
