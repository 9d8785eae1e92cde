/** A text with React elements: `rich('Type {command} to start.', { command: <code>/goal</code> })`. */
import { Fragment, type ReactNode } from 'react'

export const rich = (text: string, parts: Readonly<Record<string, ReactNode>>): ReactNode[] =>
  text
    .split(/\{(\w+)\}/)
    .map((piece, at) => <Fragment key={at}>{at % 2 === 0 ? piece : parts[piece]}</Fragment>)
