/** A command and its output. */
import { CodeText } from '../code/code-text.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { numberOf, textOf, type ToolCall } from './tool-call.ts'
import { TerminalText } from './terminal-text.tsx'
import { toolsWords } from '../words/tools.ts'

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
