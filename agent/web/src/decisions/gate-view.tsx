/**
 * The arguments that an approval covers, in the view of their tool: a command as a command, an edit as a
 * diff, everything else as a list of all keys with full values. Values other than text are shown as JSON.
 */
import type { ReactNode } from 'react'
import { CodeBlock } from '../code/code-block.tsx'
import { DiffView } from '../code/diff-view.tsx'
import { languageOfFile } from '../code/language.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { Command } from '../tools/command-view.tsx'
import './gate-view.css'

type Arguments = Readonly<Record<string, unknown>>
type Form = { takes: readonly string[]; draw: (texts: readonly string[]) => ReactNode }

const FORMS: Readonly<Record<string, Form>> = {
  terminal: { takes: ['command'], draw: ([command = '']) => <Command command={command} /> },
  write_file: {
    takes: ['path', 'content'],
    draw: ([path = '', content = '']) => (
      <>
        <Path path={path} />
        <CodeBlock code={content} language={languageOfFile(path)} isWhole />
      </>
    ),
  },
  edit_file: {
    takes: ['path', 'old_string', 'new_string'],
    draw: ([path = '', before = '', after = '']) => (
      <>
        <Path path={path} />
        <DiffView before={before} after={after} isPart isWhole />
      </>
    ),
  },
}

const Path = ({ path }: { path: string }) => (
  <p className="gate-path">
    <code>
      <ExactText text={path} />
    </code>
  </p>
)

export function gateForm(tool: unknown, args: Arguments): ReactNode {
  const form = typeof tool === 'string' && Object.hasOwn(FORMS, tool) ? FORMS[tool] : undefined
  const texts = form?.takes.map(key => args[key]) ?? []
  if (form === undefined || !texts.every(text => typeof text === 'string')) return <Fields args={args} />
  const rest = Object.entries(args).filter(([key]) => !form.takes.includes(key))
  return (
    <>
      {form.draw(texts)}
      {rest.length > 0 && <Fields args={Object.fromEntries(rest)} />}
    </>
  )
}

/** Text that cannot be confused with another value. Other text is shown in quotation marks. */
function isPlain(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.trim() !== value) return false
  try {
    JSON.parse(value)
    return false
  } catch {
    return true
  }
}

const Fields = ({ args }: { args: Arguments }) => (
  <dl className="gate-fields excerpt exact" data-whole>
    {Object.entries(args).map(([key, value]) => (
      <div key={key}>
        <dt>
          <ExactText text={key} />
        </dt>
        <dd>
          <ExactText text={isPlain(value) ? value : JSON.stringify(value, null, 2)} />
        </dd>
      </div>
    ))}
  </dl>
)
