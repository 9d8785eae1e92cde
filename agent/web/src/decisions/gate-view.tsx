/**
 * The arguments that an approval covers, in the form of their tool: a command as a command, an edit as a
 * diff.
 * Each key is shown, whole: what the form does not show stands below it as JSON.
 */
import type { ReactNode } from 'react'
import { CodeBlock } from '../code/code-block.tsx'
import { DiffView } from '../code/diff-view.tsx'
import { languageOfFile } from '../code/language.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { Command } from '../tools/command-view.tsx'

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

/** Null where the tool has no form, or the arguments are not the texts that it takes. */
export function gateForm(tool: unknown, args: Arguments): ReactNode {
  const form = typeof tool === 'string' && Object.hasOwn(FORMS, tool) ? FORMS[tool] : undefined
  if (form === undefined) return null
  const texts = form.takes.map(key => args[key])
  if (!texts.every(text => typeof text === 'string')) return null
  const rest = Object.entries(args).filter(([key]) => !form.takes.includes(key))
  return (
    <>
      {form.draw(texts)}
      {rest.length > 0 && (
        <pre className="excerpt exact">
          <ExactText text={JSON.stringify(Object.fromEntries(rest), null, 2)} />
        </pre>
      )}
    </>
  )
}
