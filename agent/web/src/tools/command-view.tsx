/** A command and its output. */
import { CodeText } from '../code/code-text.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { numberOf, textOf, type ToolCall } from './tool-call.ts'
import { toolsWords } from '../words/tools.ts'
import { useMemo } from 'react'
import { ExactText } from '../ui/exact-text.tsx'
import { ansiPieces, type Look } from './ansi.ts'

export function CommandView({ call: { args, result } }: { call: ToolCall }) {
  const command = textOf(args, 'command') ?? ''
  const output = textOf(result, 'output')
  const code = numberOf(result, 'exit_code')
  const signal = textOf(result, 'signal')
  return (
    <div className="command" data-testid="command" dir="ltr">
      <Command command={command} />
      {output !== null && output !== '' && (
        <pre className="command-output" {...scrollRegion(toolsWords.output)} data-testid="output">
          <TerminalText text={output} />
        </pre>
      )}
      {result !== null && (output === '' || code !== 0 || signal !== null) && (
        <p className="command-end faint">
          {output === '' && `${toolsWords.noOutput} `}
          {signal !== null
            ? toolsWords.endedBy(signal)
            : code !== null && code !== 0
              ? toolsWords.exitCode(code)
              : ''}
        </p>
      )}
    </div>
  )
}

export const Command = ({ command }: { command: string }) => (
  <div className="command-line">
    <span aria-hidden="true">$</span>
    <pre>
      <CodeText code={command} language="bash" />
    </pre>
    <CopyButton text={command} name={toolsWords.copyCommand} />
  </div>
)

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

const classOf = ({ colour, bold, faint, italic, underline }: Look): string =>
  [
    colour !== null && `ansi-${NAMES[colour % 8]}`,
    bold && 'ansi-bold',
    faint && 'ansi-faint',
    italic && 'ansi-italic',
    underline && 'ansi-underline',
  ]
    .filter(name => name !== false)
    .join(' ')

/** The output of a command in its own colours. */
function TerminalText({ text }: { text: string }) {
  const pieces = useMemo(() => ansiPieces(text), [text])
  return pieces.map(({ text, look }, at) => {
    const className = classOf(look)
    return className === '' ? (
      <ExactText key={at} text={text} />
    ) : (
      <span key={at} className={className}>
        <ExactText text={text} />
      </span>
    )
  })
}
