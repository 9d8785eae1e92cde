/** Separate from markdown.tsx, so that the parser is loaded on first use. */
import { type ReactNode, Suspense, isValidElement, lazy, memo, use, useDeferredValue } from 'react'
import ReactMarkdown, { type Components, type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from '../code/code-block.tsx'
import { csvOf } from '../ui/csv.ts'
import { WideTable } from '../ui/wide-table.tsx'
import { mayHoldMaths, withMaths } from './maths.ts'
import { numericColumns } from './numeric-columns.ts'
import { toolsWords } from '../words/tools.ts'

const Diagram = lazy(async () => ({ default: (await import('./diagram.tsx')).Diagram }))

const cellsOf = (table: HTMLTableElement) =>
  [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))

const COMPONENTS: Components = {
  // The parser removes unsafe addresses (such as javascript:); such a link is shown as text.
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noreferrer noopener">
        {children}
      </a>
    ) : (
      <span data-testid="no-link">{children}</span>
    ),
  // The page loads nothing from other sites, so an image becomes a link.
  img: ({ src, alt }) =>
    typeof src === 'string' && src !== '' ? (
      <a href={src} target="_blank" rel="noreferrer noopener">
        {alt || toolsWords.image}
      </a>
    ) : (
      <span>{alt || toolsWords.image}</span>
    ),
  p: ({ children }) => <p dir="auto">{children}</p>,
  li: ({ children, className }) => (
    <li dir="auto" className={className}>
      {children}
    </li>
  ),
  // One level below the title of the page.
  h1: ({ children }) => <h2 dir="auto">{children}</h2>,
  h2: ({ children }) => <h3 dir="auto">{children}</h3>,
  h3: ({ children }) => <h4 dir="auto">{children}</h4>,
  h4: ({ children }) => <h5 dir="auto">{children}</h5>,
  h5: ({ children }) => <h6 dir="auto">{children}</h6>,
  h6: ({ children }) => <h6 dir="auto">{children}</h6>,
  table: ({ children, node }) => (
    <WideTable name={toolsWords.table} columns={columnsOf(node)} csv={table => csvOf(cellsOf(table))}>
      <table className="table">{children}</table>
    </WideTable>
  ),
  pre: ({ children }) => <Pre>{children}</Pre>,
}

/** The number of cells in the first row of a table. */
function columnsOf(node: unknown): number {
  type Node = { tagName?: string; children?: Node[] }
  const first = (of: Node, name: string): Node | undefined =>
    of.tagName === name
      ? of
      : (of.children ?? []).map(child => first(child, name)).find(found => found !== undefined)
  const row = first(node as Node, 'tr')
  return (row?.children ?? []).filter(({ tagName }) => tagName === 'th' || tagName === 'td').length
}

function Pre({ children }: { children?: ReactNode }) {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children)) return <pre>{children}</pre>
  const { className = '', children: text } = children.props
  const code = (typeof text === 'string' ? text : '').replace(/\n$/, '')
  const language = /language-(\S+)/.exec(className)?.[1] ?? ''
  if (language === 'mermaid')
    return (
      <Suspense fallback={<CodeBlock code={code} language="" label={toolsWords.diagram} />}>
        <Diagram source={code} />
      </Suspense>
    )
  return <CodeBlock code={code} language={language} />
}

const PLUGINS: Options['remarkPlugins'] = [remarkGfm]
const COLUMNS = [numericColumns]
let loading: Promise<typeof import('./maths-plugins.ts')> | undefined
const loadMaths = () => (loading ??= import('./maths-plugins.ts'))

const Parsed = memo(function Parsed({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} rehypePlugins={COLUMNS} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  )
})

const WithMaths = memo(function WithMaths({ text }: { text: string }) {
  const { READ_MATHS, DRAW_MATHS } = use(loadMaths())
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm, [...READ_MATHS]]}
      rehypePlugins={[...COLUMNS, [...DRAW_MATHS]]}
      components={COMPONENTS}
    >
      {withMaths(text)}
    </ReactMarkdown>
  )
})

// React.lazy needs a default export.
export default function MarkdownRendered({ text }: { text: string }) {
  // A streamed answer is parsed again for each chunk. Parsing may lag behind; typing and scrolling may not.
  const shown = useDeferredValue(text)
  if (!mayHoldMaths(shown)) return <Parsed text={shown} />
  return (
    <Suspense fallback={<Parsed text={shown} />}>
      <WithMaths text={shown} />
    </Suspense>
  )
}
