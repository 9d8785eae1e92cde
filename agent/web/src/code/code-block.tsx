/** A block of code with its language and a copy button, collapsed if it is long. */
import { useState } from 'react'
import { CopyButton } from '../ui/copy-button.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { CodeText } from './code-text.tsx'
import { languageName } from './language.ts'
import { toolsWords } from '../words/tools.ts'
import { generalWords } from '../words/general.ts'

/** Longer code is collapsed to its first lines. */
const LONG = 60
const FIRST = 40

type Props = {
  code: string
  language: string
  /** Shown instead of the language. */
  label?: string
  /** Shows all lines, however many. */
  isWhole?: boolean
}

export function CodeBlock({ code, language, label, isWhole = false }: Props) {
  const [isOpen, setOpen] = useState(false)
  const lines = code.split('\n')
  const isFolded = !isWhole && !isOpen && lines.length > LONG
  const name = label ?? languageName(language)
  return (
    <div className="code-block" data-testid="code-block" data-language={language || undefined}>
      <header>
        <span className="truncate">{name === '' ? toolsWords.text : name}</span>
        <CopyButton text={code} name={toolsWords.copyCode} />
      </header>
      <pre {...scrollRegion(name === '' ? toolsWords.code : toolsWords.codeIn(name))} dir="ltr">
        <code>
          <CodeText code={isFolded ? lines.slice(0, FIRST).join('\n') : code} language={language} />
        </code>
      </pre>
      {isFolded && (
        <button type="button" className="code-more" onClick={() => setOpen(true)}>
          {generalWords.showAllLines(lines.length)}
        </button>
      )}
    </div>
  )
}
