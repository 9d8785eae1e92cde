/** Markdown from the model: no raw HTML, no external images; links open in a new tab without a referrer. */
import { lazy, memo, Suspense } from 'react'
import './markdown.css'

const Rendered = lazy(() => import('./markdown-rendered.tsx'))

/** Shows the source text until the renderer has loaded. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Suspense fallback={<p className="plain">{text}</p>}>
        <Rendered text={text} />
      </Suspense>
    </div>
  )
})
