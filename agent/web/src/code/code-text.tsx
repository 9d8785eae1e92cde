/** Code with syntax colours, once the highlighter has loaded. Invisible characters are made visible. */
import { use, Suspense, useMemo } from 'react'
import { ExactText } from '../ui/exact-text.tsx'
import type { Piece } from './highlighter.ts'
import './code.css'

let loading: Promise<typeof import('./highlighter.ts')> | undefined
const loadHighlighter = () => (loading ??= import('./highlighter.ts'))

export function CodeText({ code, language }: { code: string; language: string }) {
  if (language === '') return <ExactText text={code} />
  return (
    <Suspense fallback={<ExactText text={code} />}>
      <Coloured code={code} language={language} />
    </Suspense>
  )
}

function Coloured({ code, language }: { code: string; language: string }) {
  const { highlight } = use(loadHighlighter())
  const pieces = useMemo(() => highlight(code, language), [highlight, code, language])
  return pieces === null ? <ExactText text={code} /> : <Pieces pieces={pieces} />
}

const Pieces = ({ pieces }: { pieces: readonly Piece[] }) =>
  pieces.map((piece, at) =>
    typeof piece === 'string' ? (
      <ExactText key={at} text={piece} />
    ) : (
      <span key={at} className={piece.className}>
        <Pieces pieces={piece.pieces} />
      </span>
    ),
  )
