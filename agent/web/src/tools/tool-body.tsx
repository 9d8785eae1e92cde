/**
 * An expanded tool call in the view of its tool, and its recorded JSON below. Tools without a view, such as
 * those of MCP servers, show only the JSON.
 */
import { type ReactNode, useState } from 'react'
import { toolError } from '@cairn/protocol'
import { CodeBlock } from '../code/code-block.tsx'
import { DiffView } from '../code/diff-view.tsx'
import { languageOfFile } from '../code/language.ts'
import { JsonView, type OnJump } from '../events/json-view.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { CommandView } from './command-view.tsx'
import { PlanList } from './plan-list.tsx'
import { numberOf, textOf, listOf, type ToolCall, type Arguments } from './tool-call.ts'
import './tools.css'
import { toolsWords } from '../words/tools.ts'
import { generalWords } from '../words/general.ts'

type View = (call: ToolCall) => ReactNode

const VIEWS: Readonly<Record<string, View>> = {
  terminal: call => <CommandView call={call} />,
  write_file: ({ args }) => {
    const path = textOf(args, 'path') ?? ''
    return <CodeBlock label={path} code={textOf(args, 'content') ?? ''} language={languageOfFile(path)} />
  },
  edit_file: ({ args }) => (
    <DiffView before={textOf(args, 'old_string') ?? ''} after={textOf(args, 'new_string') ?? ''} isPart />
  ),
  read_file: ({ args, result }) => {
    const path = textOf(args, 'path') ?? ''
    const first = numberOf(result, 'first_line')
    const code = textOf(result, 'content')
    const lines = first === null ? '' : toolsWords.lines(first, numberOf(result, 'last_line'))
    return code === null ? null : (
      <CodeBlock label={`${path}${lines}`} code={code} language={languageOfFile(path)} />
    )
  },
  list_files: ({ result }) => <FileList entries={listOf(result, 'entries')} />,
  search_files: ({ result }) => <FoundLines matches={listOf(result, 'matches')} />,
  web_fetch: ({ result }) => result && <WebPage result={result} />,
  todo: ({ args }) => <PlanList todos={listOf(args, 'todos')} />,
}

type Props = { call: ToolCall; onEvent: OnJump }

export function ToolBody({ call, onEvent }: Props) {
  const view = call.args === null ? undefined : VIEWS[call.name]
  const error = call.content === null ? null : toolError(call.content)
  if (view === undefined) return <Recorded call={call} onEvent={onEvent} />
  return (
    <>
      {view(call)}
      {error !== null && (
        <p className="inline-error" data-testid="tool-failure">
          <ExactText text={error} />
        </p>
      )}
      <RecordFold call={call} onEvent={onEvent} />
    </>
  )
}

/** The arguments and the result exactly as logged. */
function RecordFold({ call, onEvent }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="record"
      data-testid="tool-record"
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon /> {toolsWords.recorded}
      </summary>
      {isOpen && <Recorded call={call} onEvent={onEvent} />}
    </details>
  )
}

function Recorded({ call: { rawArgs, content }, onEvent }: Props) {
  return (
    <>
      <h4>{toolsWords.arguments}</h4>
      <JsonView value={rawArgs} onJump={onEvent} />
      {content !== null && (
        <>
          <h4>{generalWords.result}</h4>
          {/^\s*[[{]/.test(content) ? (
            <JsonView value={content} onJump={onEvent} />
          ) : (
            <pre className="tool-text" {...scrollRegion(generalWords.result)}>
              <ExactText text={content} />
            </pre>
          )}
        </>
      )}
    </>
  )
}

/** The entries of a folder, and the matches of a search. */
const FIRST = 200

function FileList({ entries }: { entries: readonly unknown[] }) {
  return <Lines lines={entries.map(String)} name={toolsWords.entries} />
}

/** Matches are "path:line: text". */
function FoundLines({ matches }: { matches: readonly unknown[] }) {
  return <Lines lines={matches.map(String)} name={toolsWords.matches} />
}

function Lines({ lines, name }: { lines: readonly string[]; name: string }) {
  if (lines.length === 0) return <p className="faint">{toolsWords.none}</p>
  return (
    <div className="tool-lines" dir="ltr" {...scrollRegion(name)}>
      <ul>
        {lines.slice(0, FIRST).map((line, at) => (
          <li key={at}>
            <Line text={line} />
          </li>
        ))}
        {lines.length > FIRST && <li className="faint">{toolsWords.more(lines.length - FIRST)}</li>}
      </ul>
    </div>
  )
}

function Line({ text }: { text: string }) {
  const place = /^([^:\s][^:]*:\d+:)([\s\S]*)$/.exec(text)
  if (place === null) return <ExactText text={text} />
  return (
    <>
      <span className="faint">
        <ExactText text={place[1] ?? ''} />
      </span>
      <ExactText text={place[2] ?? ''} />
    </>
  )
}

/** A fetched page: its address, title and text. */
function WebPage({ result }: { result: Arguments }) {
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
