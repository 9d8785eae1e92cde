/** Copies a text and confirms it. */
import { useEffect, useState } from 'react'
import { CheckIcon } from './icons.tsx'
import { CopyIcon } from './page-icons.tsx'
import { sayError } from './toasts.tsx'
import { generalWords } from '../words/general.ts'

/** How long the button shows the confirmation. */
const SAID_MS = 1600

export function CopyButton({ text, name }: { text: string; name: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), SAID_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <button
      type="button"
      className="button quiet square small"
      aria-label={isCopied ? generalWords.copied : name}
      title={name}
      data-testid="copy"
      onClick={() => {
        navigator.clipboard.writeText(text).then(() => setCopied(true), sayError)
      }}
    >
      {isCopied ? <CheckIcon /> : <CopyIcon />}
    </button>
  )
}
