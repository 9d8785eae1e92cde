/** The payload as a tree: arrow keys move and open, numbers that are event ids link to the event. */
import { type KeyboardEvent, type MouseEvent, useMemo, useRef, useState } from 'react'
import { formatSize } from '../format.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { toggled } from './filter.ts'
import { type JsonLine, flattenJson } from './json-tree.ts'
import { eventsWords } from '../words/events.ts'

const LONG_TEXT = 600
const namesEvent = (line: JsonLine) =>
  line.kind === 'number' &&
  line.name !== null &&
  /(^|_)(event|message|start|cursor)(_id|_to|_from)?$/.test(line.name)

type Move = { to: number } | 'flip' | null

/** The effect of a key on line `at` of the tree: go to another line, open or close this one, or nothing. */
function moveOf(key: string, lines: readonly JsonLine[], at: number, line: JsonLine): Move {
  switch (key) {
    case 'ArrowDown':
      return { to: at + 1 }
    case 'ArrowUp':
      return { to: at - 1 }
    case 'Home':
      return { to: 0 }
    case 'End':
      return { to: lines.length - 1 }
    case 'ArrowRight':
      return line.isBranch && !line.isOpen ? 'flip' : { to: at + 1 }
    case 'ArrowLeft':
      return line.isOpen
        ? 'flip'
        : { to: lines.findLastIndex((other, i) => i < at && other.depth < line.depth) }
    case 'Enter':
    case ' ':
      return 'flip'
    default:
      return null
  }
}

/** Opens an event of the log; undefined if the page has no EVENTS tab. */
export type OnJump = ((id: number) => void) | undefined

export function JsonView({ value, onJump }: { value: unknown; onJump: OnJump }) {
  const [flipped, setFlipped] = useState<ReadonlySet<string>>(new Set())
  const [active, setActive] = useState('$')
  const tree = useRef<HTMLDivElement>(null)
  const lines = useMemo(() => flattenJson(value, flipped), [value, flipped])
  const flip = (line: JsonLine) => {
    if (line.isBranch) setFlipped(old => toggled(old, line.path))
  }
  const goTo = (position: number) => {
    const target = lines[Math.min(lines.length - 1, Math.max(0, position))]
    if (!target) return
    setActive(target.path)
    tree.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(target.path)}"]`)?.focus()
  }
  const keyDown = (event: KeyboardEvent) => {
    const at = lines.findIndex(line => line.path === active)
    const line = lines[Math.max(0, at)]
    const move = line === undefined ? null : moveOf(event.key, lines, Math.max(0, at), line)
    if (line === undefined || move === null) return
    if (move === 'flip') flip(line)
    else goTo(move.to)
    event.preventDefault()
    event.stopPropagation()
  }
  const flipAt = (event: MouseEvent) => {
    const path = (event.target as HTMLElement).closest<HTMLElement>('[data-path]')?.dataset['path']
    const line = lines.find(other => other.path === path)
    if (line) flip(line)
  }
  return (
    <div
      className="json"
      role="tree"
      aria-label={eventsWords.payload}
      tabIndex={-1}
      ref={tree}
      onKeyDown={keyDown}
      onClick={flipAt}
      data-testid="json-tree"
    >
      {lines.map(line => (
        <Line
          key={line.path}
          line={line}
          isActive={line.path === active}
          onFocus={() => setActive(line.path)}
          onJump={onJump}
        />
      ))}
    </div>
  )
}

function Line({
  line,
  isActive,
  onFocus,
  onJump,
}: {
  line: JsonLine
  isActive: boolean
  onFocus: () => void
  onJump: OnJump
}) {
  return (
    <div
      className="json-line"
      role="treeitem"
      aria-level={line.depth + 1}
      aria-selected={isActive}
      aria-expanded={line.isBranch ? line.isOpen : undefined}
      tabIndex={isActive ? 0 : -1}
      data-path={line.path}
      style={{ paddingLeft: `${line.depth * 14 + 16}px` }}
      onFocus={onFocus}
    >
      {line.isBranch && (
        <span className="json-toggle" data-open={line.isOpen || undefined}>
          <ChevronIcon />
        </span>
      )}
      {line.name !== null && (
        <span className="json-name">
          <ExactText text={line.name} />
        </span>
      )}
      <Value line={line} onJump={onJump} />
    </div>
  )
}

function Value({ line, onJump }: { line: JsonLine; onJump: OnJump }) {
  const [isWhole, setWhole] = useState(false)
  if (onJump !== undefined && namesEvent(line) && Number(line.text) > 0)
    return (
      <button
        type="button"
        className="json-link json-number"
        tabIndex={-1}
        onClick={() => onJump(Number(line.text))}
        title={eventsWords.goTo(line.text)}
      >
        {line.text}
      </button>
    )
  if (line.kind !== 'string') return <span className={`json-${line.kind}`}>{line.text}</span>
  if (line.text.length <= LONG_TEXT)
    return (
      <span className="json-string">
        <ExactText text={line.text} />
      </span>
    )
  return (
    <span className="json-string">
      <ExactText text={isWhole ? line.text : line.text.slice(0, LONG_TEXT)} />
      <button type="button" className="json-link" onClick={() => setWhole(!isWhole)}>
        {isWhole ? eventsWords.showLess : eventsWords.showAll(formatSize(line.text.length))}
      </button>
    </span>
  )
}
