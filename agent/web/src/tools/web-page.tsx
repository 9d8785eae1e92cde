/** A fetched page: its address, title and text. */
import { CodeBlock } from '../code/code-block.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { type Arguments, numberOf, textOf } from './tool-call.ts'
import { toolsWords } from '../words/tools.ts'

export function WebPage({ result }: { result: Arguments }) {
  const title = textOf(result, 'title')
  const text = textOf(result, 'text')
  const status = numberOf(result, 'status')
  return (
    <div className="web-page">
      <p>
        {title !== null && (
          <strong dir="auto">
            <ExactText text={title} />
          </strong>
        )}{' '}
        <span className="faint">
          <ExactText text={textOf(result, 'url') ?? ''} />
          {status !== null && ` · ${status}`}
        </span>
      </p>
      {text !== null && <CodeBlock label={toolsWords.pageText} code={text} language="" />}
    </div>
  )
}
