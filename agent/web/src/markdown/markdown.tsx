/**
 * Markdown of the model. No raw HTML, no images from elsewhere; links open apart and tell nothing of where
 * they were.
 */
import { lazy, memo, Suspense } from 'react'
import './markdown.css'

const Rendered = lazy(() => import('./markdown-rendered.tsx'))

/** The text itself stands in until the renderer has loaded. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Suspense fallback={<p className="plain">{text}</p>}>
        <Rendered text={text} />
      </Suspense>
    </div>
  )
})
