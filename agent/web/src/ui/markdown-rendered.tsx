/** Apart from markdown.tsx so that the parser is loaded when there is something to show. */
import { memo, useDeferredValue } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  // The page loads nothing from other sites, so a picture is shown as the link it is.
  img: ({ src, alt }) => (
    <a href={typeof src === 'string' ? src : undefined} target="_blank" rel="noreferrer noopener">
      {alt || 'image'}
    </a>
  ),
  table: ({ children }) => (
    <div className="table-scroll">
      <table>{children}</table>
    </div>
  ),
}
const PLUGINS = [remarkGfm]

const Parsed = memo(function Parsed({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  )
})

// React.lazy takes a default export only.
export default function MarkdownRendered({ text }: { text: string }) {
  // A long answer that streams is parsed anew for each chunk; that may lag behind, typing and scrolling may
  // not.
  return <Parsed text={useDeferredValue(text)} />
}
