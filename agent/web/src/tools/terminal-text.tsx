/** The output of a command in its own colours. */
import { useMemo } from 'react'
import { ExactText } from '../ui/exact-text.tsx'
import { ansiPieces, type Look } from './ansi.ts'

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

export function TerminalText({ text }: { text: string }) {
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
